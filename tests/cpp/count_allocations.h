#pragma once

#include <cstdint>

namespace aoe {

// Returns the number of allocations so far, by all threads. Nothing is counted under a sanitizer,
// which has its own allocator.
int64_t allocations();
bool counts_allocations();

}  // namespace aoe

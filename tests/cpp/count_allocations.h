#pragma once

#include <cstdint>

namespace aoe {

// How often the program has asked for memory so far, from any thread. Nothing is counted under a
// sanitizer, which has an allocator of its own.
int64_t allocations();
bool counts_allocations();

}  // namespace aoe

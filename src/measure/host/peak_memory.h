#pragma once

#include <cstdint>

namespace aoe {

// The most memory that this process has had in use so far; 0 where the system does not tell.
int64_t peak_memory_bytes();

}  // namespace aoe

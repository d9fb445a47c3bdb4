#pragma once

#include <cstdint>

namespace aoe {

// Peak resident memory of this process so far, in bytes (VmHWM); 0 if the system does not report
// it.
int64_t peak_memory_bytes();

}  // namespace aoe

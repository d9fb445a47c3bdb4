#pragma once

#include <cstddef>
#include <memory>

namespace aoe {

// Allocates uninitialized memory for tensors and work memory of kernels, aligned for the widest
// vectors. Large blocks that are freed are kept for later requests of the same size: fresh pages
// from the system cost more than many kernels. Null if out of memory. Thread-safe.
std::shared_ptr<void> allocate(size_t bytes);

}  // namespace aoe

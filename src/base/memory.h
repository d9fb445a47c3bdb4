#pragma once

#include <cstddef>
#include <memory>

namespace aoe {

// Memory for tensors and for the work of kernels, aligned for the widest vectors, uninitialized.
// Large blocks that are given back are kept for the next who asks for as much: fresh memory from
// the system costs more than many kernels do. Null when there is none. Any thread may call it.
std::shared_ptr<void> allocate(size_t bytes);

}  // namespace aoe

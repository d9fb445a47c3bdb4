#pragma once

#include "backend/backend.h"

namespace aoe {

// Returns a backend that compiles Programs with LLVM to machine code for the processor that the
// process runs on.
std::shared_ptr<const Backend> cpu_backend(Device device);

// Returns the cpu_backend of host_device(). Only commands and public interfaces ask for it, and
// pass it on.
std::shared_ptr<const Backend> host_backend();

}  // namespace aoe

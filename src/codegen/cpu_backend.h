#pragma once

#include "backend/backend.h"

namespace aoe {

// Compiles Programs with LLVM to machine code for the processor that the process runs on.
std::shared_ptr<const Backend> cpu_backend(Device device);

// The same for host_device(): for programs and public interfaces, which hand it down.
std::shared_ptr<const Backend> host_backend();

}  // namespace aoe

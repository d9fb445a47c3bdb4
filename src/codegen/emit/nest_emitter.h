#pragma once

#include "codegen/jit/compiler.h"
#include "device/device.h"
#include "loop/nest.h"

namespace aoe {

// The function that a nest becomes: a NestFunction (backend/executor.h).
using NestCode = int(void* const* buffers, const int64_t* range, void* rows);

// Both as long as they live.
EmitModule emit_nest(const Nest& nest, const Device& device);

}  // namespace aoe

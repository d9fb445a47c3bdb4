#pragma once

#include "codegen/jit/compiler.h"
#include "device/device.h"
#include "loop/nest.h"

namespace aoe {

// The type of a nest's machine code: that of a NestFunction (backend/executor.h).
using NestCode = int(void* const* buffers, const int64_t* range, void* rows);

// Returns a function that emits the nest. It refers to both arguments, which must outlive it.
EmitModule emit_nest(const Nest& nest, const Device& device);

}  // namespace aoe

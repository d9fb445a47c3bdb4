#pragma once

#include "codegen/jit.h"
#include "device/device.h"
#include "policy/nest.h"

namespace llvm {
class Module;
}

namespace aoe {

// The function that a nest becomes. `range` holds the first and the last outer point, then the
// bounds of the ranged axis if there is one; `rows` is the thread's own memory. Returns 0, or 1 if
// a loaded index was out of range.
using NestFunction = int(void* const* buffers, const int64_t* range, void* rows);

void emit_nest(llvm::Module& module, const Nest& nest, const Device& device);

// With its code.
struct CompiledNest {
  Nest nest;
  std::shared_ptr<const Code> code;
};
CompiledNest compiled(Nest nest, const Device& device);

}  // namespace aoe

#pragma once

#include <functional>
#include <string>

#include "codegen/object_cache.h"
#include "device/device.h"

namespace llvm {
class Module;
}

namespace aoe {

// Fills a module with one function of external linkage named `kEntry`.
using EmitModule = std::function<void(llvm::Module&)>;
inline constexpr const char* kEntry = "kernel";

// The emitted function as machine code for the device. Throws Error if there is too much of it. Any
// number of threads may assemble at once.
MachineObject assembled(const Device& device, const EmitModule& emit);

// All that machine code depends on beside what is emitted: the device's instructions, and the
// versions of the code generators, ours and LLVM's.
std::string assembler_text(const Device& device);

// What the compiler makes of it, for people.
std::string llvm_text(const Device& device, const EmitModule& emit);
std::string assembly_text(const Device& device, const EmitModule& emit);

}  // namespace aoe

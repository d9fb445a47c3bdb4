#pragma once

#include <functional>
#include <memory>
#include <string>

#include "codegen/jit/code_cache.h"
#include "codegen/jit/linker.h"
#include "codegen/jit/object_cache.h"
#include "device/device.h"

namespace llvm {
class Module;
}

namespace aoe {

// Fills a module with one function of external linkage named `kEntry`.
using EmitModule = std::function<void(llvm::Module&)>;
inline constexpr const char* kEntry = "kernel";

// Returns the emitted function as machine code for the device. Throws Error if it is too large. Any
// number of threads may call it at once.
MachineObject assembled(const Device& device, const EmitModule& emit);

// Returns a text with everything that machine code depends on besides the emitted function: the
// device, and the versions of LLVM and of our code generator. A part of the caches' keys.
std::string assembler_text(const Device& device);

// Return the emitted function as LLVM IR, before optimization, and as assembly, to read.
std::string llvm_text(const Device& device, const EmitModule& emit);
std::string assembly_text(const Device& device, const EmitModule& emit);

// Machine code of one function, loaded into the process; unloaded when it is destroyed.
class Code {
 public:
  Code(LoadedObject loaded, size_t bytes, int spills, double compile_ms)
      : loaded_(std::move(loaded)), bytes_(bytes), spills_(spills), compile_ms_(compile_ms) {}

  template <typename Function>
  Function* as() const {
    return reinterpret_cast<Function*>(loaded_.entry);
  }
  const void* entry() const { return loaded_.entry; }
  size_t bytes() const { return bytes_; }
  // Instructions in innermost loops that store a vector register to the stack or reload one.
  int spills() const { return spills_; }
  // Time to compile and load it in this process; 0 if it came from the object cache.
  double compile_ms() const { return compile_ms_; }

 private:
  LoadedObject loaded_;
  size_t bytes_;
  int spills_;
  double compile_ms_;
};

// A Compiler compiles functions and caches their code, in memory (CodeCache) and on disk, shared
// between processes (ObjectCache). Any number of threads may use it at once.
class Compiler {
 public:
  // Kernels that the code cache keeps. A large model has some hundreds of kernels, of some ten
  // thousand bytes each.
  static constexpr size_t kRecentKernels = 4096;

  explicit Compiler(ObjectCache disk, size_t recent = kRecentKernels)
      : disk_(std::move(disk)), in_memory_(recent) {}

  // See the function below.
  std::shared_ptr<const Code> compile(const std::string& key, const Device& device,
                                      const EmitModule& emit);

 private:
  ObjectCache disk_;
  CodeCache in_memory_;
};

// Returns the code for `key`, a text with everything that the emitted function depends on besides
// the device. Callers that ask for the same key at the same time share one compilation. Any number
// of threads may compile at once. The process has one Compiler; its folder on disk is that of
// `object_folder()` at the first call.
std::shared_ptr<const Code> compile(const std::string& key, const Device& device,
                                    const EmitModule& emit);

}  // namespace aoe

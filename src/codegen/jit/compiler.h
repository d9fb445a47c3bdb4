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

// The emitted function as machine code for the device. Throws Error if there is too much of it. Any
// number of threads may assemble at once.
MachineObject assembled(const Device& device, const EmitModule& emit);

// All that machine code depends on beside what is emitted: the device's instructions, and the
// versions of the code generators, ours and LLVM's.
std::string assembler_text(const Device& device);

// What the compiler makes of it, for people.
std::string llvm_text(const Device& device, const EmitModule& emit);
std::string assembly_text(const Device& device, const EmitModule& emit);

// Machine code of one function, alive as long as somebody holds it.
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
  // Instructions inside innermost loops that store a vector register to the stack or bring one
  // back.
  int spills() const { return spills_; }
  // What making it took in this process; 0 if it came from a cache on disk.
  double compile_ms() const { return compile_ms_; }

 private:
  LoadedObject loaded_;
  size_t bytes_;
  int spills_;
  double compile_ms_;
};

// Makes code, and finds what was made before: in memory what was used lately, on disk what other
// processes made. Any number of threads may use it at once.
class Compiler {
 public:
  // A large model has some hundreds of kernels, of some ten thousand bytes each.
  static constexpr size_t kRecentKernels = 4096;

  explicit Compiler(ObjectCache disk, size_t recent = kRecentKernels)
      : disk_(std::move(disk)), in_memory_(recent) {}

  // As the function below.
  std::shared_ptr<const Code> compile(const std::string& key, const Device& device,
                                      const EmitModule& emit);

 private:
  ObjectCache disk_;
  CodeCache in_memory_;
};

// The code for `key`, which says everything that the emitted function depends on beside the device.
// Callers that ask for the same key at the same time share one compilation. Any number of threads
// may compile at once. The process has one Compiler for all; its folder on disk is that of
// `object_folder()` at the first call.
std::shared_ptr<const Code> compile(const std::string& key, const Device& device,
                                    const EmitModule& emit);

}  // namespace aoe

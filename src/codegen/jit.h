#pragma once

#include <memory>
#include <string>

#include "codegen/assemble.h"
#include "codegen/known_code.h"
#include "codegen/linker.h"
#include "codegen/object_cache.h"
#include "device/device.h"

namespace aoe {

// Machine code of one function, alive as long as somebody holds it.
class Code {
 public:
  Code(LoadedObject loaded, size_t bytes, int spills, double compile_ms)
      : loaded_(std::move(loaded)), bytes_(bytes), spills_(spills), compile_ms_(compile_ms) {}

  template <typename Function>
  Function* as() const {
    return reinterpret_cast<Function*>(loaded_.entry);
  }
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
      : disk_(std::move(disk)), known_(recent) {}

  // As the function below.
  std::shared_ptr<const Code> compile(const std::string& key, const Device& device,
                                      const EmitModule& emit);

 private:
  ObjectCache disk_;
  KnownCode known_;
};

// The code for `key`, which says everything that the emitted function depends on beside the device.
// Callers that ask for the same key at the same time share one compilation. Any number of threads
// may compile at once. The process has one Compiler for all; its folder on disk is that of
// `object_folder()` at the first call.
std::shared_ptr<const Code> compile(const std::string& key, const Device& device,
                                    const EmitModule& emit);

}  // namespace aoe

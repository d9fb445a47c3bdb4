#pragma once

#include <functional>
#include <memory>
#include <string>

#include "device/device.h"

namespace llvm {
class Module;
}

namespace aoe {

// Machine code of one function, alive as long as somebody holds it.
class Code {
 public:
  Code(void* entry, size_t bytes, double compile_ms, std::shared_ptr<void> owner)
      : entry_(entry), bytes_(bytes), compile_ms_(compile_ms), owner_(std::move(owner)) {}

  template <typename Function>
  Function* as() const {
    return reinterpret_cast<Function*>(entry_);
  }
  size_t bytes() const { return bytes_; }
  // What making it took in this process; 0 if it came from a cache on disk.
  double compile_ms() const { return compile_ms_; }

 private:
  void* entry_;
  size_t bytes_;
  double compile_ms_;
  std::shared_ptr<void> owner_;
};

// Fills a module with one function of external linkage named `kEntry`.
using EmitModule = std::function<void(llvm::Module&)>;
inline constexpr const char* kEntry = "kernel";

// The code for `key`, which says everything that the emitted function depends on beside the device.
// Made once in a process: callers that ask for the same key at the same time share one compilation.
// Any number of threads may compile at once.
std::shared_ptr<const Code> compile(const std::string& key, const Device& device,
                                    const EmitModule& emit);

// What the compiler makes of it, for people.
std::string llvm_text(const Device& device, const EmitModule& emit);
std::string assembly_text(const Device& device, const EmitModule& emit);

}  // namespace aoe

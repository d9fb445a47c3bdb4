#include "codegen/jit/linker.h"

#include <llvm/ExecutionEngine/Orc/Core.h>
#include <llvm/ExecutionEngine/Orc/LLJIT.h>
#include <llvm/Support/TargetSelect.h>

#include <atomic>

#include "base/error.h"
#include "codegen/jit/compiler.h"
#include "codegen/jit/math_library.h"

namespace aoe {
namespace {

// Errors that the linker reports besides the one that it returns: usually the reason. Linking
// happens in the thread that asks for it.
thread_local std::string reported;

[[noreturn]] void fail_with(llvm::Error error) {
  std::string text = llvm::toString(std::move(error));
  if (!reported.empty()) text += "; " + std::exchange(reported, {});
  fail("the code generator failed: {}", text);
}

template <typename T>
T expected(llvm::Expected<T> value) {
  if (!value) fail_with(value.takeError());
  return std::move(*value);
}
void expected(llvm::Error error) {
  if (error) fail_with(std::move(error));
}

// One for the process, never destroyed: kernels may run until the process ends.
class Linker {
 public:
  static Linker& instance() {
    static Linker& linker = *new Linker;
    return linker;
  }

  LoadedObject load(const MachineObject& object) {
    reported.clear();
    const std::string name = "kernel" + std::to_string(serial_++);
    llvm::orc::JITDylib& library = jit_->getExecutionSession().createBareJITDylib(name);
    std::shared_ptr<void> owner(&library, [this](void* gone) {
      llvm::consumeError(
          jit_->getExecutionSession().removeJITDylib(*static_cast<llvm::orc::JITDylib*>(gone)));
    });
    library.addToLinkOrder(*runtime_);
    const llvm::StringRef bytes(object.bytes.data(), object.bytes.size());
    expected(jit_->addObjectFile(library, llvm::MemoryBuffer::getMemBufferCopy(bytes, name)));
    void* const entry = expected(jit_->lookup(library, kEntry)).toPtr<void*>();
    return {entry, std::move(owner)};
  }

 private:
  Linker() {
    llvm::InitializeNativeTarget();
    // Kernels have no constructors and call no functions of the process but library_functions().
    jit_ = expected(llvm::orc::LLJITBuilder()
                        .setPlatformSetUp(llvm::orc::setUpInactivePlatform)
                        .setLinkProcessSymbolsByDefault(false)
                        .create());
    jit_->getExecutionSession().setErrorReporter([](llvm::Error error) {
      if (!reported.empty()) reported += "; ";
      reported += llvm::toString(std::move(error));
    });
    runtime_ = &jit_->getExecutionSession().createBareJITDylib("runtime");
    llvm::orc::SymbolMap symbols;
    for (const LibraryFunction& function : library_functions()) {
      symbols[jit_->mangleAndIntern(function.name)] = {
          llvm::orc::ExecutorAddr::fromPtr(function.address), llvm::JITSymbolFlags::Exported};
    }
    expected(runtime_->define(llvm::orc::absoluteSymbols(std::move(symbols))));
  }

  std::unique_ptr<llvm::orc::LLJIT> jit_;
  llvm::orc::JITDylib* runtime_;
  std::atomic<int64_t> serial_{0};
};

}  // namespace

LoadedObject load(const MachineObject& object) { return Linker::instance().load(object); }

}  // namespace aoe

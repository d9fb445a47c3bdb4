#include "codegen/jit.h"

#include <llvm/ExecutionEngine/Orc/Core.h>
#include <llvm/ExecutionEngine/Orc/LLJIT.h>
#include <llvm/IR/LLVMContext.h>
#include <llvm/IR/LegacyPassManager.h>
#include <llvm/IR/Module.h>
#include <llvm/IR/Verifier.h>
#include <llvm/MC/TargetRegistry.h>
#include <llvm/Object/ObjectFile.h>
#include <llvm/Support/SmallVectorMemoryBuffer.h>
#include <llvm/Support/TargetSelect.h>
#include <llvm/Target/TargetMachine.h>
#include <llvm/TargetParser/Host.h>
#include <llvm/Transforms/InstCombine/InstCombine.h>
#include <llvm/Transforms/Scalar.h>

#include <chrono>
#include <cmath>
#include <future>
#include <map>
#include <mutex>

#include "base/error.h"
#include "codegen/library.h"

namespace aoe {
namespace {

using Clock = std::chrono::steady_clock;

template <typename T>
T expected(llvm::Expected<T> value) {
  if (!value) fail("the code generator failed: {}", llvm::toString(value.takeError()));
  return std::move(*value);
}
void expected(llvm::Error error) {
  if (error) fail("the code generator failed: {}", llvm::toString(std::move(error)));
}

// Levels of the x86-64 psABI: exactly what the device's instruction sets promise, and no more.
std::string cpu_of(const Device& device) {
  if (device.has(InstructionSet::avx512)) return "x86-64-v4";
  if (device.has(InstructionSet::avx2)) return "x86-64-v3";
  return device.has(InstructionSet::sse2) ? "x86-64" : "generic";
}

std::unique_ptr<llvm::TargetMachine> target_machine(const Device& device) {
  const std::string triple = llvm::sys::getProcessTriple();
  std::string error;
  const llvm::Target* target = llvm::TargetRegistry::lookupTarget(triple, error);
  if (target == nullptr) fail("the code generator does not know this machine: {}", error);
  return std::unique_ptr<llvm::TargetMachine>(
      target->createTargetMachine(triple, cpu_of(device), "", llvm::TargetOptions{},
                                  llvm::Reloc::PIC_, std::nullopt, llvm::CodeGenOptLevel::Default));
}

// Emitted code is already in registers and vectors; what is left to do is to share and hoist
// address arithmetic.
void add_passes(llvm::legacy::PassManager& passes) {
  passes.add(llvm::createEarlyCSEPass());
  passes.add(llvm::createLICMPass());
  passes.add(llvm::createInstructionCombiningPass());
  passes.add(llvm::createEarlyCSEPass());
}

std::unique_ptr<llvm::Module> emitted(llvm::LLVMContext& context, const Device& device,
                                      const llvm::TargetMachine& machine, const EmitModule& emit) {
  auto module = std::make_unique<llvm::Module>("kernel", context);
  module->setDataLayout(machine.createDataLayout());
  module->setTargetTriple(machine.getTargetTriple().str());
  emit(*module);
  const std::string width = std::to_string(device.vector_bytes * 8);
  const std::string host = llvm::sys::getHostCPUName().str();
  for (llvm::Function& function : *module) {
    if (function.isDeclaration()) continue;
    function.addFnAttr("prefer-vector-width", width);
    function.addFnAttr("min-legal-vector-width", width);
    function.addFnAttr("tune-cpu", host);
    function.addFnAttr(llvm::Attribute::NoUnwind);
  }
  std::string problem;
  llvm::raw_string_ostream stream(problem);
  if (llvm::verifyModule(*module, &stream)) fail("the code generator is wrong: {}", problem);
  return module;
}

llvm::SmallVector<char, 0> assembled(const Device& device, const EmitModule& emit,
                                     llvm::CodeGenFileType type) {
  llvm::LLVMContext context;
  const auto machine = target_machine(device);
  const auto module = emitted(context, device, *machine, emit);
  llvm::SmallVector<char, 0> bytes;
  llvm::raw_svector_ostream stream(bytes);
  llvm::legacy::PassManager passes;
  add_passes(passes);
  if (machine->addPassesToEmitFile(passes, stream, nullptr, type)) {
    fail("the code generator cannot write machine code for this machine");
  }
  passes.run(*module);
  return bytes;
}

// One for the process, never destroyed: kernels may run until the very end.
class Linker {
 public:
  static Linker& instance() {
    static Linker& linker = *new Linker;
    return linker;
  }

  // Loads an object; what it returns unloads it when it goes.
  std::pair<void*, std::shared_ptr<void>> load(std::unique_ptr<llvm::MemoryBuffer> object) {
    const std::string name = "kernel" + std::to_string(serial_++);
    llvm::orc::JITDylib& library = jit_->getExecutionSession().createBareJITDylib(name);
    library.addToLinkOrder(*runtime_);
    expected(jit_->addObjectFile(library, std::move(object)));
    void* const entry = expected(jit_->lookup(library, kEntry)).toPtr<void*>();
    const std::shared_ptr<void> owner(entry, [this, &library](void*) {
      llvm::consumeError(jit_->getExecutionSession().removeJITDylib(library));
    });
    return {entry, owner};
  }

 private:
  Linker() {
    llvm::InitializeNativeTarget();
    llvm::InitializeNativeTargetAsmPrinter();
    jit_ = expected(llvm::orc::LLJITBuilder().create());
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

std::shared_ptr<const Code> made(const Device& device, const EmitModule& emit) {
  Linker& linker = Linker::instance();
  const auto start = Clock::now();
  llvm::SmallVector<char, 0> bytes = assembled(device, emit, llvm::CodeGenFileType::ObjectFile);
  const size_t size = bytes.size();
  auto [entry, owner] = linker.load(std::make_unique<llvm::SmallVectorMemoryBuffer>(
      std::move(bytes), /*RequiresNullTerminator=*/false));
  const double ms = std::chrono::duration<double, std::milli>(Clock::now() - start).count();
  return std::make_shared<Code>(entry, size, ms, std::move(owner));
}

}  // namespace

std::shared_ptr<const Code> compile(const std::string& key, const Device& device,
                                    const EmitModule& emit) {
  static std::mutex mutex;
  static auto& known = *new std::map<std::string, std::shared_future<std::shared_ptr<const Code>>>;
  const std::string whole =
      fmt::format("{} {}\n{}", cpu_of(device), device.vector_bytes, key);
  std::promise<std::shared_ptr<const Code>> promise;
  std::shared_future<std::shared_ptr<const Code>> future;
  {
    const std::lock_guard lock(mutex);
    const auto found = known.find(whole);
    if (found != known.end()) future = found->second;
    else known.emplace(whole, promise.get_future().share());
  }
  if (future.valid()) return future.get();
  try {
    auto code = made(device, emit);
    promise.set_value(code);
    return code;
  } catch (...) {
    promise.set_exception(std::current_exception());
    throw;
  }
}

std::string llvm_text(const Device& device, const EmitModule& emit) {
  Linker::instance();
  llvm::LLVMContext context;
  const auto machine = target_machine(device);
  const auto module = emitted(context, device, *machine, emit);
  std::string text;
  llvm::raw_string_ostream stream(text);
  module->print(stream, nullptr);
  return text;
}

std::string assembly_text(const Device& device, const EmitModule& emit) {
  Linker::instance();
  const auto bytes = assembled(device, emit, llvm::CodeGenFileType::AssemblyFile);
  return {bytes.begin(), bytes.end()};
}

}  // namespace aoe

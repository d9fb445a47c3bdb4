#include "codegen/jit/compiler.h"

#include <llvm/Analysis/ScopedNoAliasAA.h>
#include <llvm/Analysis/TargetTransformInfo.h>
#include <llvm/CodeGen/MachineModuleInfo.h>
#include <llvm/CodeGen/Passes.h>
#include <llvm/CodeGen/TargetPassConfig.h>
#include <llvm/Config/llvm-config.h>
#include <llvm/IR/DiagnosticInfo.h>
#include <llvm/IR/DiagnosticPrinter.h>
#include <llvm/IR/LLVMContext.h>
#include <llvm/IR/LegacyPassManager.h>
#include <llvm/IR/Module.h>
#include <llvm/IR/Verifier.h>
#include <llvm/MC/TargetRegistry.h>
#include <llvm/Support/TargetSelect.h>
#include <llvm/Target/TargetMachine.h>
#include <llvm/TargetParser/Host.h>
#include <llvm/Transforms/InstCombine/InstCombine.h>
#include <llvm/Transforms/Scalar.h>

#include <chrono>

#include "base/error.h"
#include "codegen/jit/code_version.h"
#include "codegen/jit/spills.h"

// From emitted LLVM IR to machine code. `compile`, at the end, looks into the code cache (memory)
// and the object cache (disk); on a miss `assembled` calls the emitter and runs LLVM's passes and
// its code generator, and the linker loads the object.

namespace aoe {
namespace {

// Far larger than the instruction cache of any processor: such a kernel is unrolled too much.
constexpr size_t kMaxObjectBytes = 1 << 20;

// The level of the x86-64 psABI that the device's instruction sets guarantee, and no more.
std::string cpu_of(const Device& device) {
  if (device.has(Feature::avx512)) return "x86-64-v4";
  if (device.has(Feature::avx2)) return "x86-64-v3";
  return device.has(Feature::sse2) ? "x86-64" : "generic";
}

const std::string& host_cpu() {
  static const std::string name = llvm::sys::getHostCPUName().str();
  return name;
}

// Creates a target machine for one kernel. That takes 0.05 ms, and threads could not share one that
// is kept.
std::unique_ptr<llvm::LLVMTargetMachine> target_machine(const Device& device) {
  static const bool initialized =
      !llvm::InitializeNativeTarget() && !llvm::InitializeNativeTargetAsmPrinter();
  require(initialized, "the code generator does not know this machine");
  const std::string triple = llvm::sys::getProcessTriple();
  std::string error;
  const llvm::Target* target = llvm::TargetRegistry::lookupTarget(triple, error);
  if (target == nullptr) fail("the code generator does not know this machine: {}", error);
  // Every target with one of LLVM's code generators is an LLVMTargetMachine.
  return std::unique_ptr<llvm::LLVMTargetMachine>(
      static_cast<llvm::LLVMTargetMachine*>(target->createTargetMachine(
          triple, cpu_of(device), "", llvm::TargetOptions{}, llvm::Reloc::PIC_, std::nullopt,
          llvm::CodeGenOptLevel::Default)));
}

// Diagnostic handler that collects errors; without one, LLVM ends the process.
void note_problem(const llvm::DiagnosticInfo* info, void* problems) {
  if (info->getSeverity() != llvm::DS_Error) return;
  auto& text = *static_cast<std::string*>(problems);
  llvm::raw_string_ostream stream(text);
  llvm::DiagnosticPrinterRawOStream printer(stream);
  if (!text.empty()) stream << "; ";
  info->print(printer);
}

// One kernel: its module, the target machine, and the passes that write machine code.
class Assembly {
 public:
  Assembly(const Device& device, const EmitModule& emit)
      : machine_(target_machine(device)), module_("kernel", context_) {
    context_.setDiagnosticHandlerCallBack(note_problem, &problems_);
    module_.setDataLayout(machine_->createDataLayout());
    module_.setTargetTriple(machine_->getTargetTriple().str());
    emit(module_);
    const std::string width = std::to_string(device.vector_bytes * 8);
    for (llvm::Function& function : module_) {
      if (function.isDeclaration()) continue;
      function.addFnAttr("prefer-vector-width", width);
      function.addFnAttr("min-legal-vector-width", width);
      function.addFnAttr("tune-cpu", host_cpu());
      function.addFnAttr(llvm::Attribute::NoUnwind);
    }
    std::string problem;
    llvm::raw_string_ostream stream(problem);
    if (llvm::verifyModule(module_, &stream)) fail("internal error: invalid LLVM IR: {}", problem);
  }

  const llvm::Module& module() const { return module_; }
  int spills() const { return spills_; }

  llvm::SmallVector<char, 0> write(llvm::CodeGenFileType type) {
    llvm::SmallVector<char, 0> bytes;
    llvm::raw_svector_ostream stream(bytes);
    llvm::legacy::PassManager passes;
    add_passes(passes);
    add_machine_passes(passes, stream, type);
    passes.run(module_);
    if (!problems_.empty()) fail("the code generator failed: {}", problems_);
    return bytes;
  }

 private:
  // Emitted code is already vectorized and in SSA form; these passes share and hoist address
  // arithmetic. docs/design.md has their cost.
  void add_passes(llvm::legacy::PassManager& passes) {
    // First, because otherwise the first pass that requires target information creates the default
    // one, of a machine without vectors, for all passes: masked loads become a branch per element.
    passes.add(llvm::createTargetTransformInfoWrapperPass(machine_->getTargetIRAnalysis()));
    passes.add(llvm::createScopedNoAliasAAWrapperPass());
    passes.add(llvm::createEarlyCSEPass());
    passes.add(llvm::createLICMPass());
    passes.add(llvm::createInstructionCombiningPass());
    passes.add(llvm::createEarlyCSEPass());
  }

  // Adds the passes of TargetMachine::addPassesToEmitFile, and the one that counts spills before
  // the finished code is written.
  void add_machine_passes(llvm::legacy::PassManager& passes, llvm::raw_pwrite_stream& stream,
                          llvm::CodeGenFileType type) {
    auto* const information = new llvm::MachineModuleInfoWrapperPass(machine_.get());
    llvm::TargetPassConfig* const config = machine_->createPassConfig(passes);
    config->setDisableVerify(true);
    passes.add(config);
    passes.add(information);
    bool failed = config->addISelPasses();
    config->addMachinePasses();
    config->setInitialized();
    passes.add(count_spills_pass(spills_));
    failed = failed || machine_->addAsmPrinter(passes, stream, nullptr, type,
                                               information->getMMI().getContext());
    if (failed) fail("the code generator cannot write machine code for this machine");
    passes.add(llvm::createFreeMachineFunctionPass());
  }

  std::string problems_;
  llvm::LLVMContext context_;
  std::unique_ptr<llvm::LLVMTargetMachine> machine_;
  llvm::Module module_;
  int spills_ = 0;
};

}  // namespace

MachineObject assembled(const Device& device, const EmitModule& emit) {
  Assembly assembly(device, emit);
  const auto bytes = assembly.write(llvm::CodeGenFileType::ObjectFile);
  require(bytes.size() <= kMaxObjectBytes,
          "a kernel has {} bytes of machine code, more than {}: unroll its loops less",
          bytes.size(), kMaxObjectBytes);
  return {{bytes.begin(), bytes.end()}, assembly.spills()};
}

std::string assembler_text(const Device& device) {
  std::string features;
  for (const Feature feature : kFeatures) {
    if (device.has(feature)) features += fmt::format(" {}", name(feature));
  }
  return fmt::format(
      "processor {} {}\nfeatures{}\nvector bytes {}\nsecond-level cache {}\n"
      "llvm {}\naoe {} {}\n",
      device.soc_version(), host_cpu(), features, device.vector_bytes, device.caches[1].bytes,
      LLVM_VERSION_STRING, AOE_VERSION, code_version());
}

std::string llvm_text(const Device& device, const EmitModule& emit) {
  const Assembly assembly(device, emit);
  std::string text;
  llvm::raw_string_ostream stream(text);
  assembly.module().print(stream, nullptr);
  return text;
}

std::string assembly_text(const Device& device, const EmitModule& emit) {
  const auto bytes = Assembly(device, emit).write(llvm::CodeGenFileType::AssemblyFile);
  return {bytes.begin(), bytes.end()};
}

namespace {

using Clock = std::chrono::steady_clock;

std::shared_ptr<const Code> found(const ObjectCache& disk, const std::string& key) {
  const std::optional<MachineObject> object = disk.find(key);
  if (!object) return nullptr;
  try {
    return std::make_shared<Code>(load(*object), object->bytes.size(), object->spills, 0);
  } catch (const Error&) {
    return nullptr;  // the caller compiles it again, and replaces the file
  }
}

}  // namespace

std::shared_ptr<const Code> Compiler::compile(const std::string& key, const Device& device,
                                              const EmitModule& emit) {
  const std::string whole = assembler_text(device) + key;
  return in_memory_.get(whole, [&] {
    if (auto code = found(disk_, whole)) return code;
    const auto start = Clock::now();
    const MachineObject object = assembled(device, emit);
    const LoadedObject at = load(object);
    const double ms = std::chrono::duration<double, std::milli>(Clock::now() - start).count();
    disk_.keep(whole, object);
    return std::make_shared<const Code>(at, object.bytes.size(), object.spills, ms);
  });
}

std::shared_ptr<const Code> compile(const std::string& key, const Device& device,
                                    const EmitModule& emit) {
  // Never destroyed: kernels may be made until the process ends.
  static Compiler& compiler = *new Compiler(ObjectCache(object_folder()));
  return compiler.compile(key, device, emit);
}

}  // namespace aoe

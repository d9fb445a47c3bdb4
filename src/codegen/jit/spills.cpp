#include "codegen/jit/spills.h"

#include <llvm/CodeGen/MachineFunctionPass.h>
#include <llvm/CodeGen/MachineInstr.h>
#include <llvm/CodeGen/MachineLoopInfo.h>
#include <llvm/CodeGen/TargetInstrInfo.h>
#include <llvm/CodeGen/TargetSubtargetInfo.h>

#include <algorithm>

namespace aoe {
namespace {

// Smallest size of a spilled vector register; scalars, masks and addresses are narrower.
constexpr uint64_t kVectorBytes = 16;

class CountSpills : public llvm::MachineFunctionPass {
 public:
  static char ID;

  explicit CountSpills(int& count) : MachineFunctionPass(ID), count_(count) {}

  llvm::StringRef getPassName() const override { return "Count spills"; }

  void getAnalysisUsage(llvm::AnalysisUsage& usage) const override {
    usage.addRequired<llvm::MachineLoopInfoWrapperPass>();
    usage.setPreservesAll();
    MachineFunctionPass::getAnalysisUsage(usage);
  }

  bool runOnMachineFunction(llvm::MachineFunction& function) override {
    const llvm::MachineLoopInfo& loops = getAnalysis<llvm::MachineLoopInfoWrapperPass>().getLI();
    const llvm::TargetInstrInfo* target = function.getSubtarget().getInstrInfo();
    for (const llvm::MachineBasicBlock& block : function) {
      const llvm::MachineLoop* loop = loops.getLoopFor(&block);
      if (loop == nullptr || !loop->isInnermost()) continue;
      count_ += static_cast<int>(std::count_if(
          block.begin(), block.end(),
          [&](const llvm::MachineInstr& instruction) { return spills(instruction, target); }));
    }
    return false;
  }

 private:
  static bool spills(const llvm::MachineInstr& instruction, const llvm::TargetInstrInfo* target) {
    const auto is_vector = [](const std::optional<llvm::LocationSize>& size) {
      return size && size->hasValue() && size->getValue().getKnownMinValue() >= kVectorBytes;
    };
    return is_vector(instruction.getSpillSize(target)) ||
           is_vector(instruction.getRestoreSize(target)) ||
           is_vector(instruction.getFoldedSpillSize(target)) ||
           is_vector(instruction.getFoldedRestoreSize(target));
  }

  int& count_;
};

char CountSpills::ID = 0;

}  // namespace

llvm::Pass* count_spills_pass(int& count) { return new CountSpills(count); }

}  // namespace aoe

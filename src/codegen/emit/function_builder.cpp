#include "codegen/emit/function_builder.h"

#include <llvm/IR/IntrinsicInst.h>
#include <llvm/IR/MDBuilder.h>
#include <llvm/IR/Module.h>

#include "codegen/jit/compiler.h"

namespace aoe {

FunctionBuilder::FunctionBuilder(llvm::Module& module, llvm::Type* result,
                                 const std::vector<llvm::Type*>& parameters)
    : ir_(module.getContext()),
      function_(llvm::Function::Create(llvm::FunctionType::get(result, parameters, false),
                                       llvm::Function::ExternalLinkage, kEntry, module)) {
  ir_.SetInsertPoint(llvm::BasicBlock::Create(module.getContext(), "entry", function_));
}

void FunctionBuilder::loop(llvm::Value* begin, llvm::Value* end, int64_t step,
                           std::span<llvm::Value*> carried,
                           const std::function<void(llvm::Value*)>& body) {
  llvm::LLVMContext& context = function_->getContext();
  llvm::BasicBlock* before = ir_.GetInsertBlock();
  auto* head = llvm::BasicBlock::Create(context, "loop", function_);
  auto* after = llvm::BasicBlock::Create(context, "after", function_);
  const auto* first = llvm::dyn_cast<llvm::ConstantInt>(begin);
  const auto* last = llvm::dyn_cast<llvm::ConstantInt>(end);
  const bool runs =
      first != nullptr && last != nullptr && first->getSExtValue() < last->getSExtValue();
  if (runs) ir_.CreateBr(head);
  else ir_.CreateCondBr(ir_.CreateICmpSLT(begin, end), head, after);

  ir_.SetInsertPoint(head);
  llvm::PHINode* i = ir_.CreatePHI(ir_.getInt64Ty(), 2);
  i->addIncoming(begin, before);
  const std::vector<llvm::Value*> initial(carried.begin(), carried.end());
  std::vector<llvm::PHINode*> phis;
  for (llvm::Value*& value : carried) {
    phis.push_back(ir_.CreatePHI(value->getType(), 2));
    phis.back()->addIncoming(value, before);
    value = phis.back();
  }
  body(i);
  llvm::BasicBlock* tail = ir_.GetInsertBlock();
  llvm::Value* next = ir_.CreateAdd(i, index(step), "", /*HasNUW=*/true, /*HasNSW=*/true);
  i->addIncoming(next, tail);
  for (size_t k = 0; k < phis.size(); ++k) phis[k]->addIncoming(carried[k], tail);
  ir_.CreateCondBr(ir_.CreateICmpSLT(next, end), head, after);

  ir_.SetInsertPoint(after);
  if (runs) return;
  for (size_t k = 0; k < carried.size(); ++k) {
    llvm::PHINode* out = ir_.CreatePHI(carried[k]->getType(), 2);
    out->addIncoming(initial[k], before);
    out->addIncoming(carried[k], tail);
    carried[k] = out;
  }
}

void FunctionBuilder::loop(int64_t count, int64_t step, std::span<llvm::Value*> carried,
                           const std::function<void(llvm::Value*)>& body) {
  if (count <= 0) return;
  if (count <= step) body(index(0));
  else loop(index(0), index(count), step, carried, body);
}

llvm::Value* FunctionBuilder::element(llvm::Value* base, llvm::Value* offset, int64_t bytes) {
  return ir_.CreateGEP(ir_.getInt8Ty(), base, ir_.CreateMul(offset, index(bytes)));
}

llvm::Value* FunctionBuilder::element(llvm::Value* base, int64_t offset, int64_t bytes) {
  return offset == 0 ? base : ir_.CreateGEP(ir_.getInt8Ty(), base, index(offset * bytes));
}

void FunctionBuilder::create_alias_scopes(size_t count) {
  llvm::MDBuilder metadata(function_->getContext());
  llvm::MDNode* domain = metadata.createAnonymousAliasScopeDomain();
  std::vector<llvm::Metadata*> scopes;
  for (size_t i = 0; i < count; ++i) scopes.push_back(metadata.createAnonymousAliasScope(domain));
  for (size_t i = 0; i < count; ++i) {
    std::vector<llvm::Metadata*> others = scopes;
    others.erase(others.begin() + static_cast<int64_t>(i));
    scopes_.push_back(llvm::MDNode::get(function_->getContext(), {scopes[i]}));
    others_.push_back(llvm::MDNode::get(function_->getContext(), others));
  }
}

void FunctionBuilder::prefetch(llvm::Value* address) {
  constexpr int kRead = 0;
  constexpr int kSecondLevel = 2;
  constexpr int kData = 1;
  ir_.CreateIntrinsic(
      llvm::Intrinsic::prefetch, {ir_.getPtrTy()},
      {address, ir_.getInt32(kRead), ir_.getInt32(kSecondLevel), ir_.getInt32(kData)});
}

llvm::Value* FunctionBuilder::accessing(size_t which, const std::function<llvm::Value*()>& emit) {
  llvm::BasicBlock* block = ir_.GetInsertBlock();
  llvm::Instruction* last = block->empty() ? nullptr : &block->back();
  llvm::Value* const result = emit();
  auto from = last == nullptr ? block->begin() : std::next(last->getIterator());
  for (; from != block->end(); ++from) {
    if (!from->mayReadOrWriteMemory()) continue;
    from->setMetadata(llvm::LLVMContext::MD_alias_scope, scopes_[which]);
    from->setMetadata(llvm::LLVMContext::MD_noalias, others_[which]);
  }
  return result;
}

llvm::Value* FunctionBuilder::slot(llvm::Type* type, llvm::Value* initial) {
  llvm::BasicBlock& entry = function_->getEntryBlock();
  llvm::IRBuilder<> at_entry(&entry, entry.begin());
  llvm::Value* const slot = at_entry.CreateAlloca(type);
  if (initial != nullptr) at_entry.CreateStore(initial, slot);
  return slot;
}

}  // namespace aoe

#pragma once

#include <llvm/IR/IRBuilder.h>

#include <functional>
#include <span>
#include <vector>

namespace aoe {

// Emits one function: its loops, and accesses to buffers that never overlap.
class FunctionBuilder {
 public:
  FunctionBuilder(llvm::Module& module, llvm::Type* result,
                  const std::vector<llvm::Type*>& parameters);

  llvm::IRBuilder<>& ir() { return ir_; }
  llvm::Function& function() { return *function_; }
  llvm::Value* parameter(unsigned which) { return function_->getArg(which); }
  llvm::Value* index(int64_t value) { return ir_.getInt64(static_cast<uint64_t>(value)); }

  // Emits a loop for i = begin, begin + step, ... below end. `carried` values are passed from one
  // iteration to the next: `body` updates them, and after the loop they have their final values.
  void loop(llvm::Value* begin, llvm::Value* end, int64_t step, std::span<llvm::Value*> carried,
            const std::function<void(llvm::Value*)>& body);
  void loop(int64_t count, int64_t step, std::span<llvm::Value*> carried,
            const std::function<void(llvm::Value*)>& body);

  // The address base + offset elements of `bytes` each.
  llvm::Value* element(llvm::Value* base, llvm::Value* offset, int64_t bytes);
  llvm::Value* element(llvm::Value* base, int64_t offset, int64_t bytes);

  // Prefetches into the second-level cache; the address need not be valid.
  void prefetch(llvm::Value* address);

  // Returns the result of `emit`, and marks the accesses that it emits as accesses to buffer
  // `which` and no other (alias scopes).
  llvm::Value* accessing(size_t which, const std::function<llvm::Value*()>& emit);
  void create_alias_scopes(size_t count);

  // Allocates a stack slot in the entry block, and initializes it there if `initial` is given.
  llvm::Value* slot(llvm::Type* type, llvm::Value* initial = nullptr);

 private:
  llvm::IRBuilder<> ir_;
  llvm::Function* function_;
  std::vector<llvm::MDNode*> scopes_;  // by buffer: its alias scope
  std::vector<llvm::MDNode*> others_;  // by buffer: the scopes of all others
};

}  // namespace aoe

#pragma once

#include <llvm/IR/IRBuilder.h>

#include <functional>
#include <span>
#include <vector>

namespace aoe {

// Emits one function: its loops, and the memory accesses of buffers that never overlap.
class FunctionBuilder {
 public:
  FunctionBuilder(llvm::Module& module, llvm::Type* result,
                  const std::vector<llvm::Type*>& parameters);

  llvm::IRBuilder<>& ir() { return ir_; }
  llvm::Function& function() { return *function_; }
  llvm::Value* parameter(unsigned which) { return function_->getArg(which); }
  llvm::Value* index(int64_t value) { return ir_.getInt64(static_cast<uint64_t>(value)); }

  // i = begin, begin + step, ... below end. `carried` values go from one iteration to the next and
  // come out as they are after the last.
  void loop(llvm::Value* begin, llvm::Value* end, int64_t step, std::span<llvm::Value*> carried,
            const std::function<void(llvm::Value*)>& body);
  void loop(int64_t count, int64_t step, std::span<llvm::Value*> carried,
            const std::function<void(llvm::Value*)>& body);

  // base + offset elements of `bytes` each.
  llvm::Value* element(llvm::Value* base, llvm::Value* offset, int64_t bytes);
  llvm::Value* element(llvm::Value* base, int64_t offset, int64_t bytes);

  // Brings what will be read into the second-level cache; the address may be any.
  void prefetch(llvm::Value* address);

  // What `emit` gives. Tells the optimizer that what it accesses is buffer `which` and no other.
  llvm::Value* accessing(size_t which, const std::function<llvm::Value*()>& emit);
  void create_alias_scopes(size_t count);

  // A slot on the stack, made in the entry block, and set there if `initial` is given.
  llvm::Value* slot(llvm::Type* type, llvm::Value* initial = nullptr);

 private:
  llvm::IRBuilder<> ir_;
  llvm::Function* function_;
  std::vector<llvm::MDNode*> scopes_;  // for each buffer: its scope
  std::vector<llvm::MDNode*> others_;  // and all other buffers' scopes
};

}  // namespace aoe

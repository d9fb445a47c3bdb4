#pragma once

#include <llvm/IR/Module.h>

#include <functional>
#include <string>
#include <vector>

#include "codegen/emit/elements.h"
#include "codegen/jit/compiler.h"
#include "tests/cpp/backends.h"

namespace aoe {

// Generated code under test: functions over pointers, many in one module to save compilations.
class Generated {
 public:
  using Arguments = std::vector<llvm::Value*>;  // the five of Function
  using Body = std::function<void(Elements&, llvm::IRBuilder<>&, const Arguments&)>;
  using Function = void(const void* a, const void* b, void* out, int64_t first, int64_t last);

  Generated(const Device& device, const std::string& key, const std::vector<Body>& bodies)
      : code_(compile("test " + key, device, emission(device, bodies))) {}

  void run(size_t which, const void* a, const void* b, void* out, int64_t first,
           int64_t last) const {
    code_->as<void(int64_t, const void*, const void*, void*, int64_t, int64_t)>()(
        static_cast<int64_t>(which), a, b, out, first, last);
  }

  static EmitModule emission(const Device& device, const std::vector<Body>& bodies) {
    return [device, bodies](llvm::Module& module) {
      llvm::IRBuilder<> b(module.getContext());
      llvm::Type* const whole = b.getInt64Ty();
      const std::vector<llvm::Type*> types{b.getPtrTy(), b.getPtrTy(), b.getPtrTy(), whole, whole};
      std::vector<llvm::Type*> all{whole};
      all.insert(all.end(), types.begin(), types.end());
      auto* const entry = llvm::Function::Create(llvm::FunctionType::get(b.getVoidTy(), all, false),
                                                 llvm::Function::ExternalLinkage, kEntry, module);
      auto* const start = llvm::BasicBlock::Create(module.getContext(), "", entry);
      auto* const end = llvm::BasicBlock::Create(module.getContext(), "", entry);
      b.SetInsertPoint(end);
      b.CreateRetVoid();
      b.SetInsertPoint(start);
      auto* const choice = b.CreateSwitch(entry->getArg(0), end);
      for (size_t i = 0; i < bodies.size(); ++i) {
        auto* const function = llvm::Function::Create(
            llvm::FunctionType::get(b.getVoidTy(), types, false), llvm::Function::InternalLinkage,
            "body" + std::to_string(i), module);
        auto* const block = llvm::BasicBlock::Create(module.getContext(), "", entry);
        b.SetInsertPoint(block);
        b.CreateCall(function, {entry->getArg(1), entry->getArg(2), entry->getArg(3),
                                entry->getArg(4), entry->getArg(5)});
        b.CreateBr(end);
        choice->addCase(b.getInt64(i), block);
        b.SetInsertPoint(llvm::BasicBlock::Create(module.getContext(), "", function));
        Arguments arguments;
        for (llvm::Argument& argument : function->args()) arguments.push_back(&argument);
        Elements elements(b, device);
        bodies[i](elements, b, arguments);
        b.CreateRetVoid();
      }
    };
  }

  // A body that runs `step` at first, first + stride, ... below last.
  using Step =
      std::function<void(Elements&, llvm::IRBuilder<>&, const Arguments&, llvm::Value* position)>;
  static Body loop(int64_t stride, const Step& step) {
    return [=](Elements& elements, llvm::IRBuilder<>& b, const Arguments& arguments) {
      llvm::Function* const function = b.GetInsertBlock()->getParent();
      llvm::BasicBlock* const before = b.GetInsertBlock();
      auto* const body = llvm::BasicBlock::Create(b.getContext(), "", function);
      auto* const after = llvm::BasicBlock::Create(b.getContext(), "", function);
      b.CreateCondBr(b.CreateICmpSLT(arguments[3], arguments[4]), body, after);
      b.SetInsertPoint(body);
      llvm::PHINode* const position = b.CreatePHI(b.getInt64Ty(), 2);
      position->addIncoming(arguments[3], before);
      step(elements, b, arguments, position);
      llvm::Value* const next = b.CreateAdd(position, b.getInt64(static_cast<uint64_t>(stride)));
      position->addIncoming(next, b.GetInsertBlock());
      b.CreateCondBr(b.CreateICmpSLT(next, arguments[4]), body, after);
      b.SetInsertPoint(after);
    };
  }

  // The address of an element.
  static llvm::Value* at(llvm::IRBuilder<>& b, DType dtype, llvm::Value* base,
                         llvm::Value* position) {
    const auto bytes = static_cast<uint64_t>(info(dtype).bytes);
    return b.CreateGEP(b.getInt8Ty(), base, b.CreateMul(position, b.getInt64(bytes)));
  }

 private:
  std::shared_ptr<const Code> code_;
};

}  // namespace aoe

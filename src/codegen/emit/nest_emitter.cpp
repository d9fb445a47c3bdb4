#include "codegen/emit/nest_emitter.h"

#include <llvm/IR/Module.h>

#include "codegen/emit/loop_emitter.h"

// Emits the function of a nest: a loop over outer points around the loops of its stages.

namespace aoe {
namespace {

// Returns the positions of the outer axes at the outer point number `count`.
std::vector<AxisPosition> outer_positions(FunctionBuilder& function, const Shape& outer,
                                          llvm::Value* count) {
  llvm::IRBuilder<>& ir = function.ir();
  std::vector<AxisPosition> at(outer.size());
  for (size_t axis = outer.size(); axis-- > 1;) {
    llvm::Value* extent = function.index(outer[axis]);
    at[axis].base = ir.CreateURem(count, extent);
    count = ir.CreateUDiv(count, extent);
  }
  if (!at.empty()) at[0].base = count;
  return at;
}

void emit(llvm::Module& module, const Nest& nest, const Device& device) {
  llvm::LLVMContext& context = module.getContext();
  llvm::Type* pointer = llvm::PointerType::getUnqual(context);
  FunctionBuilder function(module, llvm::Type::getInt32Ty(context), {pointer, pointer, pointer});
  llvm::IRBuilder<>& ir = function.ir();
  function.create_alias_scopes(nest.buffers.size());

  std::vector<llvm::Value*> bases;
  for (size_t i = 0; i < nest.buffers.size(); ++i) {
    if (nest.buffers[i].row) {
      bases.push_back(function.element(function.parameter(2), nest.row_buffer_offset(i), 1));
    } else {
      const auto slot = static_cast<int64_t>(i * sizeof(void*));
      bases.push_back(ir.CreateLoad(pointer, function.element(function.parameter(0), slot, 1)));
    }
  }
  const auto bound = [&](int64_t which) {
    return ir.CreateLoad(ir.getInt64Ty(), function.element(function.parameter(1), which, 8));
  };
  llvm::Value* first = bound(0);
  llvm::Value* last = bound(1);
  LoopContext around{.ranged_axis = nest.ranged_axis};
  if (nest.ranged_axis >= 0) around.range = {bound(2), bound(3)};

  Elements elements(ir, device);
  PointEmitter points(function, elements, nest, device, bases);
  // `count` is the number of the outer point, or null before the first one, for `once` loops.
  const auto emit_loops = [&](llvm::Value* count) {
    around.at.assign(nest.outer.size(), {});
    if (count != nullptr) around.at = outer_positions(function, nest.outer, count);
    for (const Loop& loop : nest.loops) {
      if (loop.once != (count == nullptr)) continue;
      emit_loop(function, elements, points, device, loop, around);
    }
  };
  emit_loops(nullptr);
  function.loop(first, last, 1, {}, emit_loops);

  llvm::Value* failed = ir.getInt32(0);
  if (points.failure_slot() != nullptr) {
    failed = ir.CreateZExt(ir.CreateLoad(ir.getInt1Ty(), points.failure_slot()), ir.getInt32Ty());
  }
  ir.CreateRet(failed);
}

}  // namespace

EmitModule emit_nest(const Nest& nest, const Device& device) {
  return [&](llvm::Module& module) { emit(module, nest, device); };
}

}  // namespace aoe

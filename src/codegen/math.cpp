#include "codegen/math.h"

namespace aoe {

llvm::Value* exponential(const VectorIr& ir, llvm::Value* x) {
  return ir.call("aoe_expf", ir.b.getFloatTy(), {x});
}
llvm::Value* logarithm(const VectorIr& ir, llvm::Value* x) {
  return ir.call("aoe_logf", ir.b.getFloatTy(), {x});
}
llvm::Value* hyperbolic_tangent(const VectorIr& ir, llvm::Value* x) {
  return ir.call("aoe_tanhf", ir.b.getFloatTy(), {x});
}
llvm::Value* error_function(const VectorIr& ir, llvm::Value* x) {
  return ir.call("aoe_erff", ir.b.getFloatTy(), {x});
}

}  // namespace aoe

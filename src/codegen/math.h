#pragma once

#include "codegen/vector_ir.h"

namespace aoe {

// Functions of f32, inlined and without branches: scalars and vectors of any length.
llvm::Value* exponential(const VectorIr& ir, llvm::Value* x);
llvm::Value* logarithm(const VectorIr& ir, llvm::Value* x);
llvm::Value* hyperbolic_tangent(const VectorIr& ir, llvm::Value* x);
llvm::Value* error_function(const VectorIr& ir, llvm::Value* x);

}  // namespace aoe

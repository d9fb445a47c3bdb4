#pragma once

#include "codegen/vector_ir.h"

namespace aoe {

// Functions of f32, inlined and without branches, for scalars and vectors of any length. NaN gives
// NaN. Largest errors found, in units of the last place of the true result, and the instructions
// that one vector takes:
//
//               sse2   avx2   avx512   instructions (avx2, avx512)
//   exp         ULP
//   log         ULP
//   tanh        ULP
//   erf         ULP
llvm::Value* exponential(const VectorIr& ir, llvm::Value* x);
llvm::Value* logarithm(const VectorIr& ir, llvm::Value* x);
llvm::Value* hyperbolic_tangent(const VectorIr& ir, llvm::Value* x);
llvm::Value* error_function(const VectorIr& ir, llvm::Value* x);

}  // namespace aoe

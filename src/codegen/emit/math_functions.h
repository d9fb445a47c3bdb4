#pragma once

#include "codegen/emit/vector_ir.h"

namespace aoe {

// Functions of f32, inlined and without branches, for scalars and vectors of any length. NaN gives
// NaN. Largest errors found, in units of the last place of the true result, and the instructions
// that compute one vector (docs/numerics.md):
//
//           sse2   avx2   avx512     avx2   avx512
//   exp     1.18   0.90    1.00       15      11
//   log     1.24   1.23    1.23       29      28
//   tanh    3.49   3.44    3.44       14      14
//   erf     2.25   2.25    2.28       20      17
llvm::Value* exponential(const VectorIr& ir, llvm::Value* x);
llvm::Value* logarithm(const VectorIr& ir, llvm::Value* x);
llvm::Value* hyperbolic_tangent(const VectorIr& ir, llvm::Value* x);
llvm::Value* error_function(const VectorIr& ir, llvm::Value* x);

}  // namespace aoe

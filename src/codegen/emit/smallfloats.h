#pragma once

#include "base/dtype.h"
#include "codegen/emit/vector_ir.h"

namespace aoe {

// Floats of 16 bits and fewer in generated code. In registers they are f32 of the same value.

bool is_small_float(DType dtype);

// Rounds f32 to the nearest value of the type, still as f32: `encode` followed by `decode` of
// base/smallfloat.h.
llvm::Value* rounded(const VectorIr& ir, DType dtype, llvm::Value* floats);
// The same for doubles, with a single rounding.
llvm::Value* rounded_from_double(const VectorIr& ir, DType dtype, llvm::Value* doubles);
// Converts floats of the type to double. Also correct for 2^-127 of f8e8m0, which is a denormal in
// f32.
llvm::Value* widened_to_double(const VectorIr& ir, DType dtype, llvm::Value* floats);

// Convert f32 to the bits in memory (integers of the type's width), and back.
llvm::Value* encoded(const VectorIr& ir, DType dtype, llvm::Value* floats);
llvm::Value* decoded(const VectorIr& ir, DType dtype, llvm::Value* patterns);

}  // namespace aoe

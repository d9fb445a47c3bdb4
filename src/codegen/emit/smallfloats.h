#pragma once

#include "base/dtype.h"
#include "codegen/emit/vector_ir.h"

namespace aoe {

// Floats of 16 bits and fewer, in the generated code: kept in registers as the f32 of their value.

bool is_small_float(DType dtype);

// The f32 of the nearest value of the type; what `encode` and then `decode` of base/smallfloat.h
// do.
llvm::Value* rounded(const VectorIr& ir, DType dtype, llvm::Value* floats);
// The same for a double, rounded once.
llvm::Value* rounded_from_double(const VectorIr& ir, DType dtype, llvm::Value* doubles);
// The double of a float that is held as f32, also where it is a power of two that f32 has as a
// denormal only.
llvm::Value* widened_to_double(const VectorIr& ir, DType dtype, llvm::Value* floats);

// Bits in memory (integers of the type's width) from f32, and back.
llvm::Value* encoded(const VectorIr& ir, DType dtype, llvm::Value* floats);
llvm::Value* decoded(const VectorIr& ir, DType dtype, llvm::Value* patterns);

}  // namespace aoe

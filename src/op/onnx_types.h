#pragma once

#include "base/dtype.h"

namespace aoe {

// Convert between element types and ONNX's codes for them (TensorProto.DataType), as used in files
// and in attributes such as Cast's `to`. The first fails for unsupported types, such as complex
// numbers.
DType dtype_from_onnx(int64_t code);
int onnx_code(DType dtype);

// Number of bits of an element in a file, where a byte holds two or four elements of the smallest
// types.
int bits_of(DType dtype);

}  // namespace aoe

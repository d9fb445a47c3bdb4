#pragma once

#include "base/dtype.h"

namespace aoe {

// Element types by the number that ONNX gives them, in its files and in attributes such as Cast's
// `to`. Fails for numbers that stand for nothing here (complex numbers among them).
DType dtype_from_onnx(int64_t code);
int onnx_code(DType dtype);

// Bits of an element in a file, where a byte holds several elements of the smallest types.
int bits_of(DType dtype);

}  // namespace aoe

#pragma once

#include "expr/builder.h"

namespace aoe {

class OpContext;

// Product of matrices, or of stacks of them that broadcast; a vector is a row on the left and a
// column on the right, as numpy's matmul has it. Both sides have one type.
Operand matmul(Builder& b, const Operand& left, const Operand& right);

// value / scale was done: rounds half to even, moves by the zero point and keeps to its type.
Expr quantized(const Expr& value, const Expr& zero_point);

// `x` without its zero point, in the type that sums of products need: int32, or float32 for small
// floats. The zero point broadcasts to `x`.
Operand centered(Builder& b, const Operand& x, const Operand& zero_point);
Operand centered(Builder& b, const Operand& x);

void einsum(OpContext& op);

}  // namespace aoe

#pragma once

#include "expr/builder.h"

namespace aoe {

class OpContext;

// What elements of a type are multiplied and summed in: float32 for narrower floats, in which
// products would lose digits before they are added.
inline DType product_type(DType dtype) {
  return is_float(dtype) && dtype != DType::f64 ? DType::f32 : dtype;
}
// The product of two elements, in that type.
inline Expr product(const Expr& a, const Expr& b) {
  return cast(product_type(a.dtype()), a) * cast(product_type(b.dtype()), b);
}

// Sums of elements, each in the type of products, over the axes `over`. `finish` may add to the sum
// in that type; the result is rounded to `dtype` once, at the end.
using Element = std::function<Expr(const Axes& out, const Axes& in)>;
using Finish = std::function<Expr(const Axes& out, const Expr& sum)>;
Operand contraction(Builder& b, DType dtype, const Shape& shape, const Shape& over,
                    const Element& element, const Finish& finish = {});

// Product of matrices, or of stacks of them that broadcast; a vector is a row on the left and a
// column on the right, as numpy's matmul has it. Both sides have one type.
Operand matmul(Builder& b, const Operand& left, const Operand& right);

// `x` without its zero point, in the type that sums of products need: int32, or float32 for small
// floats. The zero point broadcasts to `x`.
Operand centered(Builder& b, const Operand& x, const Operand& zero_point);
Operand centered(Builder& b, const Operand& x);

void einsum(OpContext& op);

}  // namespace aoe

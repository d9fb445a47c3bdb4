#pragma once

#include "expr/builder.h"

namespace aoe {

class OpContext;

// The type in which products are computed and summed: f32 for narrower floats, otherwise the
// element type.
inline DType product_type(DType dtype) {
  return is_float(dtype) && dtype != DType::f64 ? DType::f32 : dtype;
}
// Returns the product of two elements in that type.
inline Expr product(const Expr& a, const Expr& b) {
  return cast(product_type(a.dtype()), a) * cast(product_type(b.dtype()), b);
}

// Sums `element`, which has the product type, over the axes `over`. `finish` is the epilogue: it
// may modify the sum in that type. The result is rounded to `dtype` once, after it.
using Element = std::function<Expr(const Axes& out, const Axes& in)>;
using Finish = std::function<Expr(const Axes& out, const Expr& sum)>;
Operand contraction(Builder& b, DType dtype, const Shape& shape, const Shape& over,
                    const Element& element, const Finish& finish = {});

// Matrix product with numpy's semantics: batch axes broadcast; a vector is a row on the left and a
// column on the right. Both sides have the same element type.
Operand matmul(Builder& b, const Operand& left, const Operand& right);

// Returns `x` minus its zero point in the type of the accumulators: i32, or f32 for 8-bit floats.
// The zero point broadcasts to `x`.
Operand centered(Builder& b, const Operand& x, const Operand& zero_point);
Operand centered(Builder& b, const Operand& x);

void einsum(OpContext& op);

}  // namespace aoe

#pragma once

#include <optional>

#include "expr/expr.h"

namespace aoe {

// `quotient` (of an element and a scale) rounded half to even, moved by the zero point and cut off
// at the ends of the integer type `to`. A small float is only moved: rounding to the type does
// the rest.
Expr quantized(const Expr& quotient, const std::optional<Expr>& zero_point, DType to);

// A sum of products of quantized elements, as the quantized output: the scales of both sides and of
// the output, then its zero point.
Expr requantized(const Expr& sum, const Expr& left, const Expr& right, const Expr& output,
                 const Expr& zero_point);

}  // namespace aoe

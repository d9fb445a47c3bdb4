#pragma once

#include <optional>

#include "expr/expr.h"

namespace aoe {

// Returns `quotient` (element / scale) rounded half to even, plus the zero point, clamped to the
// range of the integer type `to`. For an 8-bit float only the zero point is added; the cast to the
// type rounds.
Expr quantized(const Expr& quotient, const std::optional<Expr>& zero_point, DType to);

// Requantizes a sum of products of quantized elements. `left`, `right` and `output` are the scales
// of both sides and of the output; `zero_point` is that of the output and determines the type.
Expr requantized(const Expr& sum, const Expr& left, const Expr& right, const Expr& output,
                 const Expr& zero_point);

}  // namespace aoe

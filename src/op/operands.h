#pragma once

#include <array>
#include <string_view>
#include <vector>

#include "op/context.h"

namespace aoe {

// Returns the element type that an attribute names. The second form returns `otherwise` if the
// attribute is 0 or missing.
DType dtype_attr(const OpContext& op, std::string_view name);
DType dtype_attr(const OpContext& op, std::string_view name, DType otherwise);

// Returns an input as an operand; fails if its element type is not in the class that the name
// states.
Operand numeric_in(OpContext& op, int input);
Operand int_in(OpContext& op, int input);
Operand float_in(OpContext& op, int input);
Operand bool_in(OpContext& op, int input);
// Returns an input of one element as a scalar.
Operand scalar_in(OpContext& op, int input);

// Returns the two inputs of a binary operator. Before opset 7, the attribute `axis` gives the axis
// of the first input where those of the second begin; the second is reshaped so that numpy's
// broadcasting aligns them.
std::array<Operand, 2> binary_in(OpContext& op);

// Reshapes `a` so that in a tensor of rank `rank` its first axis is aligned with `axis`.
Operand aligned_at(Builder& b, const Operand& a, int64_t axis, int64_t rank);

// The type that norms, softmax and losses compute in: f64 for f64, f32 for everything else.
inline DType wide_type(DType dtype) { return dtype == DType::f64 ? DType::f64 : DType::f32; }

// For each element of `to`, in row-major order: the position of the element of `from` that
// broadcasts to it.
std::vector<int64_t> broadcast_positions(const Shape& from, const Shape& to);

}  // namespace aoe

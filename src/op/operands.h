#pragma once

#include <array>
#include <string_view>
#include <vector>

#include "op/context.h"

namespace aoe {

// An attribute that names an element type; 0 counts as left out.
DType dtype_attr(const OpContext& op, std::string_view name);
DType dtype_attr(const OpContext& op, std::string_view name, DType otherwise);

// An input as an operand, of a type that can be computed with as the name says.
Operand numeric_in(OpContext& op, int input);
Operand int_in(OpContext& op, int input);
Operand float_in(OpContext& op, int input);
Operand bool_in(OpContext& op, int input);
// An input of one element, as a scalar.
Operand scalar_in(OpContext& op, int input);

// The two inputs of a binary operator. Before opset 7 an attribute `axis` says where the second one
// lies in the first; it is reshaped so that the usual rules find it there.
std::array<Operand, 2> binary_in(OpContext& op);

// `a` given the shape in which its axes lie at `axis` and after in a tensor of that rank.
Operand aligned_at(Builder& b, const Operand& a, int64_t axis, int64_t rank);

// What norms, softmax and losses compute in: the type itself, or f32 for smaller floats.
inline DType wide_type(DType dtype) { return dtype == DType::f64 ? DType::f64 : DType::f32; }

// For each element of `to`, in order, the position of the element of `from` that broadcasts to it.
std::vector<int64_t> broadcast_positions(const Shape& from, const Shape& to);

}  // namespace aoe

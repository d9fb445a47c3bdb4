#include "op/operands.h"

#include "op/onnx_types.h"

namespace aoe {
namespace {

Operand checked_in(OpContext& op, int input, bool (*accepts)(DType), std::string_view what) {
  const DType dtype = op.dtype(input);
  require(accepts(dtype), "input {} holds {}, not {}", input, name(dtype), what);
  return op.in(input);
}

}  // namespace

DType dtype_attr(const OpContext& op, std::string_view name) {
  return dtype_from_onnx(op.integer(name));
}

DType dtype_attr(const OpContext& op, std::string_view name, DType otherwise) {
  const int64_t code = op.integer(name, 0);
  return code == 0 ? otherwise : dtype_from_onnx(code);
}

Operand numeric_in(OpContext& op, int input) {
  return checked_in(op, input, is_numeric, "numbers");
}

Operand int_in(OpContext& op, int input) { return checked_in(op, input, is_int, "integers"); }

Operand float_in(OpContext& op, int input) {
  return checked_in(op, input, is_float, "floating-point numbers");
}

Operand bool_in(OpContext& op, int input) {
  return checked_in(op, input, [](DType d) { return d == DType::boolean; }, "bools");
}

Operand scalar_in(OpContext& op, int input) {
  const Operand a = op.in(input);
  require(element_count(a.shape) == 1, "input {} has shape {} where one element is expected", input,
          to_string(a.shape));
  return op.reshape(a, {});
}

Operand aligned_at(Builder& b, const Operand& a, int64_t axis, int64_t rank) {
  require(axis >= 0 && axis + a.rank() <= rank, "axis {} does not place shape {} in rank {}", axis,
          to_string(a.shape), rank);
  Shape shape = a.shape;
  shape.resize(static_cast<size_t>(rank - axis), 1);
  return b.reshape(a, std::move(shape));
}

std::array<Operand, 2> binary_in(OpContext& op) {
  const Operand a = op.in(0);
  const Operand b = op.in(1);
  if (op.opset() >= 7 || !op.has_attr("axis")) return {a, b};
  const int64_t axis = op.integer("axis");
  return {a, aligned_at(op, b, axis < 0 ? axis + a.rank() : axis, a.rank())};
}

std::vector<int64_t> broadcast_positions(const Shape& from, const Shape& to) {
  require(broadcast(from, to) == to, "shape {} does not broadcast to {}", to_string(from),
          to_string(to));
  const Shape strides = row_major_strides(from);
  const size_t skipped = to.size() - from.size();
  std::vector<int64_t> positions(static_cast<size_t>(element_count(to)));
  Shape point(to.size(), 0);
  int64_t position = 0;
  for (int64_t& result : positions) {
    result = position;
    for (size_t axis = to.size(); axis-- > 0;) {
      const bool moves = axis >= skipped && from[axis - skipped] != 1;
      const int64_t stride = moves ? strides[axis - skipped] : 0;
      position += stride;
      if (++point[axis] < to[axis]) break;
      position -= stride * to[axis];
      point[axis] = 0;
    }
  }
  return positions;
}

}  // namespace aoe

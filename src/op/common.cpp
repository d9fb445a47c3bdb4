#include "op/common.h"

#include <array>

namespace aoe {
namespace {

// In the order of ONNX's TensorProto.DataType, from 1. Complex numbers have no type here.
constexpr std::array<std::optional<DType>, 26> kElementTypes{
    DType::f32,      DType::u8,         DType::i8,     DType::u16,        DType::i16,
    DType::i32,      DType::i64,        DType::string, DType::boolean,    DType::f16,
    DType::f64,      DType::u32,        DType::u64,    std::nullopt,      std::nullopt,
    DType::bf16,     DType::f8e4m3fn,   DType::f8e4m3fnuz, DType::f8e5m2, DType::f8e5m2fnuz,
    DType::u4,       DType::i4,         DType::f4e2m1, DType::f8e8m0,     DType::u2,
    DType::i2,
};

Operand checked_in(OpContext& op, int input, bool (*accepts)(DType), std::string_view what) {
  const DType dtype = op.dtype(input);
  require(accepts(dtype), "input {} holds {}, not {}", input, name(dtype), what);
  return op.in(input);
}

}  // namespace

DType element_type(int64_t code) {
  const bool known = code >= 1 && code <= static_cast<int64_t>(kElementTypes.size());
  const std::optional<DType> found =
      known ? kElementTypes[static_cast<size_t>(code - 1)] : std::nullopt;
  require(found.has_value(), "element type {} is not supported", code);
  return *found;
}

DType dtype_attr(const OpContext& op, std::string_view name) {
  return element_type(op.integer(name));
}

DType dtype_attr(const OpContext& op, std::string_view name, DType otherwise) {
  const int64_t code = op.integer(name, 0);
  return code == 0 ? otherwise : element_type(code);
}

Operand numeric_in(OpContext& op, int input) {
  return checked_in(op, input, is_numeric, "numbers");
}

Operand int_in(OpContext& op, int input) {
  return checked_in(op, input, is_int, "integers");
}

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

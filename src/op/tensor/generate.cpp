#include <cmath>
#include <limits>

#include "op/families.h"
#include "op/operands.h"

namespace aoe {
namespace {

void give(OpContext& op, const Tensor& tensor) {
  if (tensor.dtype() != DType::string) return op.out(op.constant(tensor));
  op.host({tensor.type()}, [tensor](const HostCall&) { return std::vector<Value>{tensor}; });
}

template <typename T, typename From>
Tensor vector_of(const std::vector<From>& elements) {
  return Tensor::of(std::vector<T>(elements.begin(), elements.end()),
                    {static_cast<int64_t>(elements.size())});
}

// The value is in one of several attributes, depending on its type.
void constant(OpContext& op) {
  if (op.has_attr("value")) return give(op, op.tensor_attr("value"));
  if (op.has_attr("sparse_value")) return give(op, op.tensor_attr("sparse_value"));
  if (op.has_attr("value_int")) return give(op, Tensor::scalar(op.integer("value_int")));
  if (op.has_attr("value_ints")) return give(op, Tensor::of_ints(op.integers("value_ints")));
  if (op.has_attr("value_float")) {
    return give(op, Tensor::scalar(static_cast<float>(op.real("value_float"))));
  }
  if (op.has_attr("value_floats")) return give(op, vector_of<float>(op.reals("value_floats")));
  if (op.has_attr("value_string")) return give(op, Tensor::strings({}, {op.text("value_string")}));
  require(op.has_attr("value_strings"), "there is no attribute 'value' or 'value_...'");
  std::vector<std::string> texts = op.texts("value_strings");
  const auto count = static_cast<int64_t>(texts.size());
  give(op, Tensor::strings({count}, std::move(texts)));
}

void constant_of_shape(OpContext& op) {
  Tensor value = Tensor::scalar(0.0f);
  if (op.has_attr("value")) value = op.tensor_attr("value");
  require(value.count() == 1, "attribute 'value' is {}, not one element", to_string(value.type()));
  require(op.rank(0) <= 1, "the shape is given as {}, not as a vector",
          to_string(op.tensor(0).type()));
  const Operand element = op.constant(value.reshaped({}));
  op.out(op.compute(op.ints(0), [&](const Axes&) { return element({}); }));
}

// Number of elements from start to limit (exclusive) in steps of `delta`.
int64_t count_of_ints(int64_t start, int64_t limit, int64_t delta) {
  // In 128 bits: the difference of two int64 needs 65.
  const __int128 distance = static_cast<__int128>(limit) - start;
  if (distance == 0 || (distance < 0) != (delta < 0)) return 0;
  const __int128 step = delta < 0 ? -static_cast<__int128>(delta) : delta;
  const __int128 count = ((distance < 0 ? -distance : distance) + step - 1) / step;
  require(count <= std::numeric_limits<int64_t>::max(),
          "a range from {} to {} has too many elements", start, limit);
  return static_cast<int64_t>(count);
}

int64_t count_of_floats(double start, double limit, double delta) {
  const double count = std::ceil((limit - start) / delta);
  require(count < 0x1p62, "a range from {} to {} by {} has no end", start, limit, delta);
  return std::max<int64_t>(0, static_cast<int64_t>(std::max(count, 0.0)));
}

void range(OpContext& op) {
  const bool ints = is_int(op.dtype(0));
  require(is_numeric(op.dtype(0)), "a range of {} is not supported", name(op.dtype(0)));
  require(op.number_in(2) != 0, "delta is zero");
  const int64_t count = ints ? count_of_ints(op.integer_in(0), op.integer_in(1), op.integer_in(2))
                             : count_of_floats(op.number_in(0), op.number_in(1), op.number_in(2));
  const Operand start = scalar_in(op, 0);
  const Operand delta = scalar_in(op, 2);
  const DType type = ints ? start.dtype : wide_type(start.dtype);
  op.out(op.compute({count}, [&](const Axes& point) {
    return cast(start.dtype, cast(type, start({})) + cast(type, point[0]) * cast(type, delta({})));
  }));
}

void eye_like(OpContext& op) {
  const Shape& shape = op.shape(0);
  require(shape.size() == 2, "the input has shape {} where a matrix is expected", to_string(shape));
  const DType type = op.has_attr("dtype") ? dtype_attr(op, "dtype") : op.dtype(0);
  require(type != DType::string, "strings are not supported");
  const int64_t diagonal = op.integer("k", 0);
  op.out(op.compute(
      shape, [&](const Axes& point) { return cast(type, eq(point[1] - point[0], diagonal)); }));
}

}  // namespace

const OpTable& generate_operators() {
  static const OpTable table{
      {"Constant", 1, constant},
      {"ConstantOfShape", 9, constant_of_shape},
      {"EyeLike", 9, eye_like},
      {"Range", 11, range},
  };
  return table;
}

}  // namespace aoe

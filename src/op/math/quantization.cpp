#include "op/math/quantization.h"

#include "op/families.h"
#include "op/math/conversion.h"
#include "op/operands.h"

namespace aoe {

Expr quantized(const Expr& quotient, const std::optional<Expr>& zero_point, DType to) {
  Expr y = is_float(to) ? quotient : round(quotient);
  if (zero_point) y = y + cast(y.dtype(), *zero_point);
  if (is_float(to)) return cast(to, y);
  // If y is so large that the sum above was rounded, it is out of range and clamped anyway.
  return cast(to, clamp(y, cast(y.dtype(), lowest(to)), cast(y.dtype(), highest(to))));
}

Expr requantized(const Expr& sum, const Expr& left, const Expr& right, const Expr& output,
                 const Expr& zero_point) {
  const Expr scale = left * right / output;
  return quantized(cast(DType::f64, sum) * cast(DType::f64, scale), zero_point, zero_point.dtype());
}

namespace {

// The quantization granularity: one scale (and zero point) per tensor, per position along an axis,
// or per block of positions along an axis.
class Granularity {
 public:
  // Derived from the shapes of input 0 and of the scale, input 1.
  explicit Granularity(OpContext& op) {
    const Shape& x = op.shape(0);
    const Shape& scale = op.shape(1);
    const auto rank = static_cast<int64_t>(x.size());
    const int64_t block = op.integer("block_size", 0);
    require(block >= 0, "attribute 'block_size' is {}, which is negative", block);
    if (scale.size() <= 1 && element_count(scale) == 1 && block == 0) return;
    axis_ = normalize_axis(op.integer("axis", 1), rank);
    const int64_t extent = x[static_cast<size_t>(axis_)];
    Shape expected = block == 0 ? Shape{extent} : x;
    if (block > 0) expected[static_cast<size_t>(axis_)] = ceil_div(extent, block);
    require(scale == expected, "scales have shape {} where {} is expected", to_string(scale),
            to_string(expected));
    kind_ = block == 0 ? Kind::axis : Kind::block;
    block_ = block;
  }

  // Returns the element of `parameter`, which has the shape of the scale, that applies to an
  // element of x.
  Expr at(const Operand& parameter, const Axes& point) const {
    switch (kind_) {
      case Kind::tensor: return parameter(Axes(parameter.shape.size(), zero()));
      case Kind::axis: return parameter({point[static_cast<size_t>(axis_)]});
      case Kind::block: break;
    }
    Axes index = point;
    Expr& position = index[static_cast<size_t>(axis_)];
    position = position / block_;
    return parameter(std::move(index));
  }

 private:
  enum class Kind { tensor, axis, block };
  static Expr zero() { return Expr::integer(DType::i64, 0); }

  Kind kind_ = Kind::tensor;
  int64_t axis_ = 0;
  int64_t block_ = 1;
};

std::optional<Operand> zero_point_in(OpContext& op) {
  if (!op.has(2)) return std::nullopt;
  const Operand zero_point = numeric_in(op, 2);
  const Shape& scale = op.shape(1);
  // A single parameter may be a scalar in one input and a vector of one element in the other.
  const bool single = element_count(scale) == 1 && element_count(zero_point.shape) == 1;
  require(zero_point.shape == scale || single, "zero points have shape {}, scales {}",
          to_string(zero_point.shape), to_string(scale));
  return op.reshape(zero_point, scale);
}

// The type to which the quotient of element and scale is rounded.
DType division_type(const OpContext& op, DType scale) {
  // Integer scales divide in f64. f8e8m0 has no mantissa, so quotients by it are rounded to f32.
  const DType by_default = !is_float(scale)         ? DType::f64
                           : scale == DType::f8e8m0 ? DType::f32
                                                    : scale;
  const DType precision = dtype_attr(op, "precision", by_default);
  require(is_float(precision), "attribute 'precision' names {}, which is no floating-point type",
          name(precision));
  return precision;
}

void quantize_linear(OpContext& op) {
  const Operand x = numeric_in(op, 0);
  const Operand scale = numeric_in(op, 1);
  const Granularity granularity(op);
  const std::optional<Operand> zero_point = zero_point_in(op);
  const DType fallback = zero_point ? zero_point->dtype : DType::u8;
  const DType to = dtype_attr(op, "output_dtype", fallback);
  require(!zero_point || zero_point->dtype == to, "zero points are {}, output_dtype names {}",
          name(fallback), name(to));
  const bool small = is_int(to) ? info(to).bytes <= 2 : is_float(to) && info(to).bytes == 1;
  require(small && to != DType::f8e8m0, "{} is no type to quantize to", name(to));
  const DType precision = division_type(op, scale.dtype);
  const DType wide = wide_type(precision);
  const Float8CastRules rules = cast_rules(op);
  op.out(op.compute(x.shape, [&](const Axes& point) {
    const Expr quotient = cast(wide, x(point)) / cast(wide, granularity.at(scale, point));
    const Expr y = cast(wide, cast(precision, quotient));
    std::optional<Expr> shift;
    if (zero_point) shift = granularity.at(*zero_point, point);
    if (is_int(to)) return quantized(y, shift, to);
    return converted(shift ? y + cast(wide, *shift) : y, to, rules);
  }));
}

void dequantize_linear(OpContext& op) {
  const Operand x = numeric_in(op, 0);
  const Operand scale = float_in(op, 1);
  const Granularity granularity(op);
  const std::optional<Operand> zero_point = zero_point_in(op);
  const DType to = dtype_attr(op, "output_dtype", scale.dtype);
  require(is_float(to), "attribute 'output_dtype' names {}, which is no floating-point type",
          name(to));
  require(to != DType::f8e8m0, "scales of {} need the attribute 'output_dtype'", name(to));
  const DType wide = wide_type(to);
  // Differences of integers are exact in i64.
  const DType exact = is_int(x.dtype) ? DType::i64 : wide;
  op.out(op.compute(x.shape, [&](const Axes& point) {
    Expr y = cast(exact, x(point));
    if (zero_point) y = y - cast(exact, granularity.at(*zero_point, point));
    return cast(to, cast(wide, y) * cast(wide, granularity.at(scale, point)));
  }));
}

// Maps the range of the input, extended to include zero, to 0..255.
void dynamic_quantize_linear(OpContext& op) {
  const Operand x = float_in(op, 0);
  const auto extreme = [&](const Reducer& reducer) {
    return op.reduce(reducer, {}, x.shape, [&](const Axes&, const Axes& in) { return x(in); });
  };
  const Operand largest = extreme(max_of(x.dtype));
  const Operand smallest = extreme(min_of(x.dtype));
  const Operand scale = op.map(largest, smallest, [](const Expr& high, const Expr& low) {
    return (max(high, 0) - min(low, 0)) / 255;
  });
  // If all elements are zero, the scale is 0: divide by 1 instead.
  const auto divisor = [](const Expr& s) { return select(eq(s, 0), number_like(s, 1), s); };
  const Operand zero_point = op.map(smallest, scale, [&](const Expr& low, const Expr& s) {
    return quantized(-(min(low, 0) / divisor(s)), std::nullopt, DType::u8);
  });
  op.out(op.map({x, scale, zero_point}, [&](const std::vector<Expr>& e) {
    return quantized(e[0] / divisor(e[1]), e[2], DType::u8);
  }));
  op.out(scale);
  op.out(zero_point);
}

}  // namespace

const OpTable& quantization_operators() {
  static const OpTable table{
      {"DequantizeLinear", 10, dequantize_linear},
      {"DynamicQuantizeLinear", 11, dynamic_quantize_linear},
      {"QuantizeLinear", 10, quantize_linear},
  };
  return table;
}

}  // namespace aoe

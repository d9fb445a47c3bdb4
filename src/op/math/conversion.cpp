#include "op/math/conversion.h"

#include <charconv>
#include <cmath>
#include <cstring>

#include "op/families.h"
#include "op/onnx_types.h"
#include "op/operands.h"

namespace aoe {
namespace {

template <typename T>
concept Small = requires { T::format; };

// The format of a float of 16 bits or fewer, or null.
const FloatFormat* format_of(DType dtype) {
  return dispatch(dtype, [](auto tag) -> const FloatFormat* {
    using T = typename decltype(tag)::type;
    if constexpr (Small<T>) return &T::format;
    else return nullptr;
  });
}

Expr to_power_of_two(const Expr& x, const Float8CastRules& rules) {
  const DType type = DType::f8e8m0;
  // In f64: the lowest power, 2^-127, is a denormal of f32, which generated code flushes to zero.
  Expr wide = cast(DType::f64, x);
  if (rules.saturate) {
    wide = clamp(wide, number_like(wide, std::ldexp(1.0, -127)),
                 number_like(wide, std::ldexp(1.0, 127)));
  }
  // Round to nearest, then correct by one power if that went in the wrong direction.
  const Expr nearest = cast(wide.dtype(), cast(type, wide));
  switch (rules.power_of_two) {
    case Float8CastRules::PowerOfTwo::up:
      return cast(type, select(lt(nearest, wide), nearest * 2, nearest));
    case Float8CastRules::PowerOfTwo::down:
      return cast(type, select(lt(wide, nearest), nearest * 0.5, nearest));
    case Float8CastRules::PowerOfTwo::nearest: break;
  }
  return cast(type, nearest);
}

std::string text_of(double value) {
  if (std::isnan(value)) return "NaN";
  if (std::isinf(value)) return value < 0 ? "-INF" : "INF";
  return fmt::format("{}", value);
}
std::string text_of(float value) {
  return std::isfinite(value) ? fmt::format("{}", value) : text_of(static_cast<double>(value));
}
std::string text_of(int64_t value) { return fmt::format("{}", value); }
std::string text_of(uint64_t value) { return fmt::format("{}", value); }

template <typename T>
std::string text_of_element(T value) {
  if constexpr (std::is_floating_point_v<T> || std::is_same_v<T, uint64_t>) return text_of(value);
  else if constexpr (Small<T>) return text_of(static_cast<float>(value));
  else return text_of(static_cast<int64_t>(value));
}

// Parses the whole text as a number; "INF" and "NaN" are accepted in any case.
template <typename N>
bool parse(std::string_view text, N& number) {
  if (text.starts_with('+')) text.remove_prefix(1);
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && end == text.data() + text.size();
}

template <typename T>
T element_of(const std::string& text) {
  constexpr bool whole = !std::is_floating_point_v<T> && !Small<T>;
  using Exact = std::conditional_t<std::is_same_v<T, uint64_t>, uint64_t, int64_t>;
  if constexpr (whole) {
    Exact exact = 0;
    if (parse(text, exact)) return static_cast<T>(exact);
  }
  double number = 0;
  require(parse(text, number), "'{}' is not a number", text);
  if constexpr (whole) {
    require(std::fabs(number) < 0x1p63, "'{}' does not fit an integer", text);
    return static_cast<T>(static_cast<int64_t>(number));
  } else {
    return static_cast<T>(number);
  }
}

Tensor strings_of(const Tensor& x) {
  Tensor result(DType::string, x.shape());
  dispatch(x.dtype(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    for (int64_t i = 0; i < x.count(); ++i) {
      result.data<std::string>()[i] = text_of_element(x.data<T>()[i]);
    }
  });
  return result;
}

Tensor numbers_of(const Tensor& x, DType to) {
  Tensor result(to, x.shape());
  dispatch(to, [&](auto tag) {
    using T = typename decltype(tag)::type;
    for (int64_t i = 0; i < x.count(); ++i) {
      result.data<T>()[i] = element_of<T>(x.data<std::string>()[i]);
    }
  });
  return result;
}

void identity(OpContext& op) {
  const ValueType& type = op.type(0);
  if (type.kind == ValueType::Kind::tensor && op.dtype(0) != DType::string) {
    return op.out(op.in(0));
  }
  op.host({type}, [](const HostCall& call) { return std::vector{call.inputs.at(0)}; });
}

void cast_to(OpContext& op, DType to) {
  const DType from = op.dtype(0);
  if (from == to) return identity(op);
  if (from != DType::string && to != DType::string) {
    const Float8CastRules rules = cast_rules(op);
    return op.out(op.map(op.in(0), [&](const Expr& x) { return converted(x, to, rules); }));
  }
  op.host({TensorType{to, op.shape(0)}}, [to](const HostCall& call) {
    const Tensor& x = call.inputs[0].tensor();
    return std::vector<Value>{to == DType::string ? strings_of(x) : numbers_of(x, to)};
  });
}

void cast_by_attribute(OpContext& op) { cast_to(op, dtype_attr(op, "to")); }
void cast_like(OpContext& op) { cast_to(op, op.dtype(1)); }

// Brings reinterpreted bytes into the canonical form of types narrower than 8 bits and of bool,
// where every non-zero byte is true.
void normalize(Tensor& x) {
  dispatch(x.dtype(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    auto* bytes = reinterpret_cast<uint8_t*>(x.raw());
    for (int64_t i = 0; i < x.count(); ++i) {
      if constexpr (std::is_same_v<T, bool>) bytes[i] = bytes[i] != 0;
      else if constexpr (std::is_same_v<T, Float4E2M1>) bytes[i] &= 0xf;
      else x.data<T>()[i] = T(static_cast<int64_t>(bytes[i]));
    }
  });
}

void bit_cast(OpContext& op) {
  const DType to = dtype_attr(op, "to");
  const DType from = op.dtype(0);
  require(from != DType::string && to != DType::string, "strings have no bits to reinterpret");
  require(bits_of(from) == bits_of(to), "{} has {} bits, {} has {}", name(from), bits_of(from),
          name(to), bits_of(to));
  op.host({TensorType{to, op.shape(0)}}, [to](const HostCall& call) {
    const Tensor& x = call.inputs[0].tensor();
    Tensor result(to, x.shape());
    std::memcpy(result.raw(), x.raw(), static_cast<size_t>(x.bytes()));
    if (bits_of(to) < 8 || to == DType::boolean) normalize(result);
    return std::vector<Value>{result};
  });
}

}  // namespace

Float8CastRules cast_rules(const OpContext& op) {
  using PowerOfTwo = Float8CastRules::PowerOfTwo;
  const std::string mode = op.text("round_mode", "up");
  require(mode == "up" || mode == "down" || mode == "nearest",
          "attribute 'round_mode' is '{}', not up, down or nearest", mode);
  return {.saturate = op.flag("saturate", true),
          .power_of_two = mode == "up"     ? PowerOfTwo::up
                          : mode == "down" ? PowerOfTwo::down
                                           : PowerOfTwo::nearest};
}

Expr converted(const Expr& x, DType to, const Float8CastRules& rules) {
  if (to == DType::f8e8m0) return to_power_of_two(x, rules);
  const FloatFormat* format = format_of(to);
  if (format == nullptr || format->bits > 8 || !rules.saturate) return cast(to, x);
  const Expr wide = cast(is_float(x.dtype()) ? wide_type(x.dtype()) : DType::f64, x);
  const double largest = decode(*format, format->largest());
  return cast(to, clamp(wide, number_like(wide, -largest), number_like(wide, largest)));
}

const OpTable& conversion_operators() {
  static const OpTable table{
      {"BitCast", 26, bit_cast},
      {"Cast", 1, cast_by_attribute},
      {"CastLike", 15, cast_like},
      {"Identity", 1, identity},
  };
  return table;
}

}  // namespace aoe

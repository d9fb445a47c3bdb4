#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "expr/tape.h"

// The instructions that compute, each one loop over a strip. In reading order:
//
//   unary_loop, ...         loops over registers, with the operation as a template parameter
//   magnitude ... maximum   scalar operations with edge cases (overflow, division by zero, NaN)
//   float_unary, ...        from an ExprOp to its instantiated loop, per class of register
//   converted, narrow_loop  conversions between classes, rounding and wrapping to narrow types
//   unary_instruction, ...  the functions that tape.h declares
//
// Every operation is defined for all operands: integers wrap, and their division by zero gives 0.

namespace aoe {
namespace {

template <typename T>
inline constexpr bool kFloat = std::is_floating_point_v<T>;

template <auto Fn, typename T, typename R>
void unary_loop(const Instr& instr, Frame& frame) {
  const T* a = frame.reg<T>(instr.a);
  R* dst = frame.reg<R>(instr.dst);
  for (int64_t i = 0; i < frame.count; ++i) dst[i] = static_cast<R>(Fn(a[i]));
}

template <auto Fn, typename T, typename R>
void binary_loop(const Instr& instr, Frame& frame) {
  const T* a = frame.reg<T>(instr.a);
  const T* b = frame.reg<T>(instr.b);
  R* dst = frame.reg<R>(instr.dst);
  for (int64_t i = 0; i < frame.count; ++i) dst[i] = static_cast<R>(Fn(a[i], b[i]));
}

template <typename T>
void select_loop(const Instr& instr, Frame& frame) {
  const int64_t* condition = frame.reg<int64_t>(instr.a);
  const T* a = frame.reg<T>(instr.b);
  const T* b = frame.reg<T>(instr.c);
  T* dst = frame.reg<T>(instr.dst);
  for (int64_t i = 0; i < frame.count; ++i) dst[i] = condition[i] != 0 ? a[i] : b[i];
}

template <typename T>
void constant_loop(const Instr& instr, Frame& frame) {
  const T value = kFloat<T> ? static_cast<T>(instr.number) : static_cast<T>(instr.integer);
  std::fill_n(frame.reg<T>(instr.dst), kStrip, value);
}

// Integer arithmetic is done in uint64_t, where overflow is defined to wrap.
template <typename T>
T wrapping(uint64_t bits) {
  return static_cast<T>(bits);
}

template <typename T>
T magnitude(T a) {
  return std::is_signed_v<T> && a < T(0) ? wrapping<T>(0 - uint64_t(a)) : a;
}

template <typename T>
T shifted_left(T a, T b) {
  return uint64_t(b) < 64 ? wrapping<T>(uint64_t(a) << uint64_t(b)) : T(0);
}

// An arithmetic shift if T is signed.
template <typename T>
T shifted_right(T a, T b) {
  if (uint64_t(b) < 64) return a >> b;
  return std::is_signed_v<T> && a < 0 ? static_cast<T>(-1) : T(0);
}

template <typename T>
T divide(T a, T b) {
  if constexpr (!kFloat<T>) {
    if (b == 0) return 0;
    if (std::is_signed_v<T> && b == static_cast<T>(-1)) return wrapping<T>(0 - uint64_t(a));
  }
  return a / b;
}

template <typename T>
T remainder(T a, T b) {
  if constexpr (kFloat<T>) return std::fmod(a, b);
  else if (b == 0 || (std::is_signed_v<T> && b == static_cast<T>(-1))) return 0;
  else return a % b;
}

template <typename T>
T modulo(T a, T b) {
  const T r = remainder(a, b);
  if constexpr (std::is_unsigned_v<T>) return r;
  else return r != 0 && (r < 0) != (b < 0) ? r + b : r;
}

template <typename T>
T power(T base, T exponent) {
  if constexpr (kFloat<T>) return std::pow(base, exponent);
  else {
    if constexpr (std::is_signed_v<T>) {
      if (exponent < 0) {
        if (base == 1) return 1;
        if (base == -1) return exponent % 2 == 0 ? 1 : -1;
        return 0;
      }
    }
    uint64_t result = 1;
    auto square = static_cast<uint64_t>(base);
    for (auto rest = static_cast<uint64_t>(exponent); rest != 0; rest >>= 1) {
      if (rest & 1) result *= square;
      square *= square;
    }
    return wrapping<T>(result);
  }
}

template <typename T>
T minimum(T a, T b) {
  if constexpr (kFloat<T>) {
    if (std::isnan(a)) return a;
    if (std::isnan(b)) return b;
  }
  return b < a ? b : a;
}

template <typename T>
T maximum(T a, T b) {
  if constexpr (kFloat<T>) {
    if (std::isnan(a)) return a;
    if (std::isnan(b)) return b;
  }
  return a < b ? b : a;
}

template <typename T>
Instr::Run float_unary(ExprOp op) {
  switch (op) {
    case ExprOp::neg: return unary_loop<[](T a) { return -a; }, T, T>;
    case ExprOp::abs: return unary_loop<[](T a) { return std::fabs(a); }, T, T>;
    case ExprOp::sqrt: return unary_loop<[](T a) { return std::sqrt(a); }, T, T>;
    case ExprOp::exp: return unary_loop<[](T a) { return std::exp(a); }, T, T>;
    case ExprOp::log: return unary_loop<[](T a) { return std::log(a); }, T, T>;
    case ExprOp::sin: return unary_loop<[](T a) { return std::sin(a); }, T, T>;
    case ExprOp::cos: return unary_loop<[](T a) { return std::cos(a); }, T, T>;
    case ExprOp::tan: return unary_loop<[](T a) { return std::tan(a); }, T, T>;
    case ExprOp::asin: return unary_loop<[](T a) { return std::asin(a); }, T, T>;
    case ExprOp::acos: return unary_loop<[](T a) { return std::acos(a); }, T, T>;
    case ExprOp::atan: return unary_loop<[](T a) { return std::atan(a); }, T, T>;
    case ExprOp::sinh: return unary_loop<[](T a) { return std::sinh(a); }, T, T>;
    case ExprOp::cosh: return unary_loop<[](T a) { return std::cosh(a); }, T, T>;
    case ExprOp::tanh: return unary_loop<[](T a) { return std::tanh(a); }, T, T>;
    case ExprOp::asinh: return unary_loop<[](T a) { return std::asinh(a); }, T, T>;
    case ExprOp::acosh: return unary_loop<[](T a) { return std::acosh(a); }, T, T>;
    case ExprOp::atanh: return unary_loop<[](T a) { return std::atanh(a); }, T, T>;
    case ExprOp::erf: return unary_loop<[](T a) { return std::erf(a); }, T, T>;
    case ExprOp::floor: return unary_loop<[](T a) { return std::floor(a); }, T, T>;
    case ExprOp::ceil: return unary_loop<[](T a) { return std::ceil(a); }, T, T>;
    case ExprOp::round: return unary_loop<[](T a) { return std::nearbyint(a); }, T, T>;
    case ExprOp::is_nan: return unary_loop<[](T a) { return std::isnan(a); }, T, int64_t>;
    case ExprOp::is_inf: return unary_loop<[](T a) { return std::isinf(a); }, T, int64_t>;
    default: return nullptr;
  }
}

template <typename T>
Instr::Run integer_unary(ExprOp op) {
  switch (op) {
    case ExprOp::neg: return unary_loop<[](T a) { return 0 - uint64_t(a); }, T, T>;
    case ExprOp::abs: return unary_loop<magnitude<T>, T, T>;
    case ExprOp::floor:
    case ExprOp::ceil:
    case ExprOp::round: return unary_loop<[](T a) { return a; }, T, T>;
    case ExprOp::is_nan:
    case ExprOp::is_inf: return unary_loop<[](T) { return false; }, T, int64_t>;
    case ExprOp::logical_not: return unary_loop<[](T a) { return a == 0; }, T, int64_t>;
    case ExprOp::bit_not: return unary_loop<[](T a) { return ~a; }, T, T>;
    default: return nullptr;
  }
}

template <typename T>
Instr::Run any_binary(ExprOp op) {
  switch (op) {
    case ExprOp::div: return binary_loop<divide<T>, T, T>;
    case ExprOp::mod: return binary_loop<modulo<T>, T, T>;
    case ExprOp::rem: return binary_loop<remainder<T>, T, T>;
    case ExprOp::pow: return binary_loop<power<T>, T, T>;
    case ExprOp::min: return binary_loop<minimum<T>, T, T>;
    case ExprOp::max: return binary_loop<maximum<T>, T, T>;
    case ExprOp::eq: return binary_loop<[](T a, T b) { return a == b; }, T, int64_t>;
    case ExprOp::lt: return binary_loop<[](T a, T b) { return a < b; }, T, int64_t>;
    case ExprOp::le: return binary_loop<[](T a, T b) { return a <= b; }, T, int64_t>;
    default: return nullptr;
  }
}

template <typename T>
Instr::Run float_binary(ExprOp op) {
  switch (op) {
    case ExprOp::add: return binary_loop<[](T a, T b) { return a + b; }, T, T>;
    case ExprOp::sub: return binary_loop<[](T a, T b) { return a - b; }, T, T>;
    case ExprOp::mul: return binary_loop<[](T a, T b) { return a * b; }, T, T>;
    default: return any_binary<T>(op);
  }
}

template <typename T>
Instr::Run integer_binary(ExprOp op) {
  using U = uint64_t;
  switch (op) {
    case ExprOp::add: return binary_loop<[](T a, T b) { return U(a) + U(b); }, T, T>;
    case ExprOp::sub: return binary_loop<[](T a, T b) { return U(a) - U(b); }, T, T>;
    case ExprOp::mul: return binary_loop<[](T a, T b) { return U(a) * U(b); }, T, T>;
    case ExprOp::bit_and: return binary_loop<[](T a, T b) { return a & b; }, T, T>;
    case ExprOp::bit_or: return binary_loop<[](T a, T b) { return a | b; }, T, T>;
    case ExprOp::bit_xor: return binary_loop<[](T a, T b) { return a ^ b; }, T, T>;
    case ExprOp::shl: return binary_loop<shifted_left<T>, T, T>;
    case ExprOp::shr: return binary_loop<shifted_right<T>, T, T>;
    default: return any_binary<T>(op);
  }
}

// Float to 64-bit integer: rounds towards zero and saturates; NaN becomes the lowest value.
// Narrower types wrap afterwards.
template <typename From, typename To>
To converted(From value) {
  if constexpr (kFloat<From> && !kFloat<To>) {
    constexpr To low = std::numeric_limits<To>::min();
    constexpr To high = std::numeric_limits<To>::max();
    if (std::isnan(value)) return low;
    if (value <= static_cast<From>(low)) {
      // Negative numbers wrap in an unsigned type, as integers do.
      if constexpr (std::is_unsigned_v<To>) {
        return static_cast<To>(converted<From, int64_t>(value));
      }
      return low;
    }
    if (value >= static_cast<From>(high)) return high;
    return static_cast<To>(value);
  } else {
    return static_cast<To>(value);
  }
}

template <typename From>
Instr::Run convert_from(RegClass to) {
  switch (to) {
    case RegClass::f32: return unary_loop<converted<From, float>, From, float>;
    case RegClass::f64: return unary_loop<converted<From, double>, From, double>;
    case RegClass::i64: return unary_loop<converted<From, int64_t>, From, int64_t>;
    case RegClass::u64: return unary_loop<converted<From, uint64_t>, From, uint64_t>;
  }
  return nullptr;
}

// Rounds or wraps to the stored type, by conversion to it and back.
template <typename Reg, typename Stored>
void narrow_loop(const Instr& instr, Frame& frame) {
  const Reg* a = frame.reg<Reg>(instr.a);
  Reg* dst = frame.reg<Reg>(instr.dst);
  for (int64_t i = 0; i < frame.count; ++i) dst[i] = static_cast<Reg>(static_cast<Stored>(a[i]));
}

// Rounds directly to a small float: going through float would round twice.
template <typename From, typename Stored>
void round_loop(const Instr& instr, Frame& frame) {
  const From* a = frame.reg<From>(instr.a);
  float* dst = frame.reg<float>(instr.dst);
  for (int64_t i = 0; i < frame.count; ++i) dst[i] = static_cast<float>(static_cast<Stored>(a[i]));
}

void copy_loop(const Instr& instr, Frame& frame) {
  std::memcpy(frame.reg<double>(instr.dst), frame.reg<double>(instr.a),
              static_cast<size_t>(frame.count) * sizeof(double));
}

void axis_loop(const Instr& instr, Frame& frame) {
  const std::vector<int64_t>& positions = frame.positions[static_cast<size_t>(instr.integer)];
  std::copy_n(positions.data(), frame.count, frame.reg<int64_t>(instr.dst));
}

void reduce_axis_loop(const Instr& instr, Frame& frame) {
  const int64_t position = frame.reduce_position[static_cast<size_t>(instr.integer)];
  std::fill_n(frame.reg<int64_t>(instr.dst), frame.count, position);
}

}  // namespace

Instr::Run unary_instruction(ExprOp op, RegClass type) {
  switch (type) {
    case RegClass::f32: return float_unary<float>(op);
    case RegClass::f64: return float_unary<double>(op);
    case RegClass::i64: return integer_unary<int64_t>(op);
    case RegClass::u64: return integer_unary<uint64_t>(op);
  }
  return nullptr;
}

Instr::Run binary_instruction(ExprOp op, RegClass type) {
  switch (type) {
    case RegClass::f32: return float_binary<float>(op);
    case RegClass::f64: return float_binary<double>(op);
    case RegClass::i64: return integer_binary<int64_t>(op);
    case RegClass::u64: return integer_binary<uint64_t>(op);
  }
  return nullptr;
}

Instr::Run select_instruction(RegClass type) {
  switch (type) {
    case RegClass::f32: return select_loop<float>;
    case RegClass::f64: return select_loop<double>;
    case RegClass::i64: return select_loop<int64_t>;
    case RegClass::u64: return select_loop<uint64_t>;
  }
  return nullptr;
}

Instr::Run convert_instruction(RegClass from, RegClass to) {
  switch (from) {
    case RegClass::f32: return convert_from<float>(to);
    case RegClass::f64: return convert_from<double>(to);
    case RegClass::i64: return convert_from<int64_t>(to);
    case RegClass::u64: return convert_from<uint64_t>(to);
  }
  return nullptr;
}

Instr::Run narrow_instruction(DType dtype) {
  if (dtype == DType::boolean) return nullptr;
  return dispatch(dtype, [&](auto tag) -> Instr::Run {
    using Stored = typename decltype(tag)::type;
    if constexpr (sizeof(Stored) == 8 || std::is_same_v<Stored, float>) return nullptr;
    else if (is_float(dtype)) return narrow_loop<float, Stored>;
    else return narrow_loop<int64_t, Stored>;
  });
}

Instr::Run round_instruction(RegClass from, DType to) {
  return dispatch(to, [&](auto tag) -> Instr::Run {
    using Stored = typename decltype(tag)::type;
    if constexpr (requires { Stored::format; }) {
      switch (from) {
        case RegClass::f32: return round_loop<float, Stored>;
        case RegClass::f64: return round_loop<double, Stored>;
        case RegClass::i64: return round_loop<int64_t, Stored>;
        case RegClass::u64: return round_loop<uint64_t, Stored>;
      }
    }
    return nullptr;
  });
}

Instr::Run constant_instruction(RegClass type) {
  switch (type) {
    case RegClass::f32: return constant_loop<float>;
    case RegClass::f64: return constant_loop<double>;
    case RegClass::i64: return constant_loop<int64_t>;
    case RegClass::u64: return constant_loop<uint64_t>;
  }
  return nullptr;
}

Instr::Run axis_instruction(bool reduced) { return reduced ? reduce_axis_loop : axis_loop; }

Instr::Run copy_instruction() { return copy_loop; }

}  // namespace aoe

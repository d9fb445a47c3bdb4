#pragma once

#include <concepts>
#include <cstdint>
#include <memory>
#include <string_view>
#include <type_traits>
#include <vector>

#include "base/dtype.h"

namespace aoe {

// Operation of a node of an expression. Comparisons and logical operations give bool.
enum class ExprOp : uint8_t {
  constant,  // a number
  axis,      // position along an axis of the stage
  load,      // an element of a tensor; its index is any integer expression
  arg,       // an accumulator: an operand of a reducer's combine, or its final value
  cast,
  neg,
  abs,
  sqrt,
  exp,
  log,
  sin,
  cos,
  tan,
  asin,
  acos,
  atan,
  sinh,
  cosh,
  tanh,
  asinh,
  acosh,
  atanh,
  erf,
  floor,
  ceil,
  round,  // half to even
  is_nan,
  is_inf,
  logical_not,
  bit_not,
  add,
  sub,
  mul,
  div,  // of integers: rounds towards zero; division by zero gives zero
  mod,  // sign of the divisor, as Python's %
  rem,  // sign of the dividend, as C's fmod
  pow,
  min,  // NaN if either operand is
  max,  // likewise
  eq,
  lt,
  le,
  bit_and,
  bit_or,
  bit_xor,  // and the two above: logical operations on bools
  shl,
  shr,
  select,  // condition ? a : b; only loads of the selected operand need be in bounds
};

std::string_view name(ExprOp op);
// Whether the result is bool, whatever the operands are.
bool gives_bool(ExprOp op);

// Cost class of an operation on vectors.
enum class OpCost : uint8_t {
  none,      // leaves and loads
  simple,    // one instruction
  division,  // one slow instruction
  function,  // many instructions
};
OpCost cost_of(ExprOp op);

// A scalar expression over the axes of a stage, immutable and shared. Arithmetic on f16, bf16 and
// smaller floats happens in f32; a cast rounds. Integers wrap around at the width of their type.
class Expr {
 public:
  struct Node {
    ExprOp op;
    DType dtype;
    std::vector<Expr> operands;  // load: its index, then the value outside, if it has one
    int64_t id = 0;              // integer constant: value; axis, arg: number; load: tensor
    double number = 0;           // constant: value
    int rank = 0;                // load: number of operands that are the index
    bool linear = false;         // load: its only index is a linear offset, known to be in bounds
  };

  Expr() = default;
  explicit Expr(Node node) : node_(std::make_shared<const Node>(std::move(node))) {}

  static Expr constant(DType dtype, double value);
  static Expr integer(DType dtype, int64_t value);
  template <std::integral T>
  static Expr axis(T which) {
    return Expr({ExprOp::axis, DType::i64, {}, static_cast<int64_t>(which)});
  }
  static Expr position(int64_t value);  // a constant in an index: i64
  static Expr arg(int64_t which, DType dtype);
  // With `outside`, an index out of bounds gives that value; without, it must be in bounds.
  static Expr load(int64_t tensor, DType dtype, std::vector<Expr> index, Expr outside = {});

  static Expr linear_load(int64_t tensor, DType dtype, Expr offset);

  explicit operator bool() const { return node_ != nullptr; }
  const Node& operator*() const { return *node_; }
  const Node* operator->() const { return node_.get(); }
  DType dtype() const { return node_->dtype; }

  bool is_constant() const { return node_->op == ExprOp::constant; }
  bool is_integer(int64_t value) const { return is_constant() && node_->id == value; }
  bool is_axis(size_t which) const {
    return node_->op == ExprOp::axis && node_->id == static_cast<int64_t>(which);
  }

 private:
  std::shared_ptr<const Node> node_;
};

// Axis expressions `first`, `first + 1`, ...
std::vector<Expr> axes_from(size_t first, size_t count);

// These fold constants and drop x + 0 and x * 1 on i64, so that indexes print as one would write
// them.
Expr unary(ExprOp op, const Expr& a);
Expr binary(ExprOp op, const Expr& a, const Expr& b);
Expr select(const Expr& condition, const Expr& a, const Expr& b);
Expr cast(DType dtype, const Expr& a);

// A constant of the type of `like`.
template <typename T>
  requires std::is_arithmetic_v<T>
Expr number_like(const Expr& like, T value) {
  if constexpr (std::is_floating_point_v<T>) return Expr::constant(like.dtype(), value);
  else return Expr::integer(like.dtype(), static_cast<int64_t>(value));
}

// Minus or plus infinity of a float type, the extreme value of an integer type.
Expr lowest(DType dtype);
Expr highest(DType dtype);

// Infix forms, each also with a plain number on either side.
#define AOE_BINARY(function, which)                                                  \
  inline Expr function(const Expr& a, const Expr& b) { return binary(which, a, b); } \
  template <typename T>                                                              \
    requires std::is_arithmetic_v<T>                                                 \
  Expr function(const Expr& a, T b) {                                                \
    return binary(which, a, number_like(a, b));                                      \
  }                                                                                  \
  template <typename T>                                                              \
    requires std::is_arithmetic_v<T>                                                 \
  Expr function(T a, const Expr& b) {                                                \
    return binary(which, number_like(b, a), b);                                      \
  }
AOE_BINARY(operator+, ExprOp::add)
AOE_BINARY(operator-, ExprOp::sub)
AOE_BINARY(operator*, ExprOp::mul)
AOE_BINARY(operator/, ExprOp::div)
AOE_BINARY(mod, ExprOp::mod)
AOE_BINARY(rem, ExprOp::rem)
AOE_BINARY(pow, ExprOp::pow)
AOE_BINARY(min, ExprOp::min)
AOE_BINARY(max, ExprOp::max)
AOE_BINARY(eq, ExprOp::eq)
AOE_BINARY(lt, ExprOp::lt)
AOE_BINARY(le, ExprOp::le)
AOE_BINARY(operator&, ExprOp::bit_and)
AOE_BINARY(operator|, ExprOp::bit_or)
AOE_BINARY(operator^, ExprOp::bit_xor)
#undef AOE_BINARY

inline Expr operator-(const Expr& a) { return unary(ExprOp::neg, a); }
inline Expr abs(const Expr& a) { return unary(ExprOp::abs, a); }
inline Expr sqrt(const Expr& a) { return unary(ExprOp::sqrt, a); }
inline Expr exp(const Expr& a) { return unary(ExprOp::exp, a); }
inline Expr log(const Expr& a) { return unary(ExprOp::log, a); }
inline Expr tanh(const Expr& a) { return unary(ExprOp::tanh, a); }
inline Expr erf(const Expr& a) { return unary(ExprOp::erf, a); }
inline Expr floor(const Expr& a) { return unary(ExprOp::floor, a); }
inline Expr ceil(const Expr& a) { return unary(ExprOp::ceil, a); }
inline Expr round(const Expr& a) { return unary(ExprOp::round, a); }
inline Expr cos(const Expr& a) { return unary(ExprOp::cos, a); }
inline Expr sin(const Expr& a) { return unary(ExprOp::sin, a); }
inline Expr is_nan(const Expr& a) { return unary(ExprOp::is_nan, a); }
inline Expr is_inf(const Expr& a) { return unary(ExprOp::is_inf, a); }
inline Expr operator!(const Expr& a) { return unary(ExprOp::logical_not, a); }

inline Expr sigmoid(const Expr& x) { return 1 / (1 + exp(-x)); }
inline Expr clamp(const Expr& x, const Expr& low, const Expr& high) {
  return min(max(x, low), high);
}

}  // namespace aoe

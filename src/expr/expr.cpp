#include "expr/expr.h"

#include <array>
#include <cassert>
#include <cmath>
#include <limits>

#include "base/shape.h"

namespace aoe {
namespace {

// In the order of ExprOp.
constexpr std::array<std::string_view, 48> kNames{
    "constant", "axis",  "load", "arg",   "cast", "neg",   "abs",    "sqrt",   "exp",  "log",
    "sin",      "cos",   "tan",  "asin",  "acos", "atan",  "sinh",   "cosh",   "tanh", "asinh",
    "acosh",    "atanh", "erf",  "floor", "ceil", "round", "is_nan", "is_inf", "not",  "bit_not",
    "add",      "sub",   "mul",  "div",   "mod",  "rem",   "pow",    "min",    "max",  "eq",
    "lt",       "le",    "and",  "or",    "xor",  "shl",   "shr",    "select"};
static_assert(kNames.size() == static_cast<size_t>(ExprOp::select) + 1);

// Folds index arithmetic on two constants; empty if it overflows or the operation is not folded.
Expr folded(ExprOp op, int64_t a, int64_t b) {
  int64_t result = 0;
  bool overflow = false;
  switch (op) {
    case ExprOp::add: overflow = __builtin_add_overflow(a, b, &result); break;
    case ExprOp::sub: overflow = __builtin_sub_overflow(a, b, &result); break;
    case ExprOp::mul: overflow = __builtin_mul_overflow(a, b, &result); break;
    default: return {};
  }
  return overflow ? Expr{} : Expr::integer(DType::i64, result);
}

Expr simplified(ExprOp op, const Expr& a, const Expr& b) {
  if (a.dtype() != DType::i64) return {};
  if (a.is_constant() && b.is_constant()) return folded(op, a->id, b->id);
  switch (op) {
    case ExprOp::add:
      if (a.is_integer(0)) return b;
      if (b.is_integer(0)) return a;
      return {};
    case ExprOp::sub: return b.is_integer(0) ? a : Expr{};
    case ExprOp::mul:
      if (a.is_integer(1) || b.is_integer(0)) return b;
      if (b.is_integer(1) || a.is_integer(0)) return a;
      return {};
    case ExprOp::div: return b.is_integer(1) ? a : Expr{};
    default: return {};
  }
}

}  // namespace

std::string_view name(ExprOp op) { return kNames[static_cast<size_t>(op)]; }

bool gives_bool(ExprOp op) {
  switch (op) {
    case ExprOp::eq:
    case ExprOp::lt:
    case ExprOp::le:
    case ExprOp::is_nan:
    case ExprOp::is_inf:
    case ExprOp::logical_not: return true;
    default: return false;
  }
}

OpCost cost_of(ExprOp op) {
  if (op <= ExprOp::arg) return OpCost::none;
  if (op == ExprOp::sqrt || (op >= ExprOp::div && op <= ExprOp::rem)) return OpCost::division;
  const bool function = (op >= ExprOp::exp && op <= ExprOp::erf) || op == ExprOp::pow;
  return function ? OpCost::function : OpCost::simple;
}

Expr Expr::constant(DType dtype, double value) {
  if (!is_float(dtype)) {
    // The range of int64; the comparison is false for NaN.
    require(std::fabs(value) < 0x1p63, "{} does not fit into {}", value, name(dtype));
    return integer(dtype, static_cast<int64_t>(value));
  }
  Node node{.op = ExprOp::constant, .dtype = dtype, .operands = {}};
  node.number = value;
  return Expr(std::move(node));
}

Expr Expr::integer(DType dtype, int64_t value) {
  if (is_float(dtype)) return constant(dtype, static_cast<double>(value));
  Node node{.op = ExprOp::constant, .dtype = dtype, .operands = {}};
  node.id = value;
  node.number = static_cast<double>(value);
  return Expr(std::move(node));
}

Expr Expr::position(int64_t value) { return integer(DType::i64, value); }

std::vector<Expr> axes_from(size_t first, size_t count) {
  std::vector<Expr> axes;
  for (size_t i = 0; i < count; ++i) axes.push_back(Expr::axis(first + i));
  return axes;
}

Expr Expr::arg(int64_t which, DType dtype) {
  return Expr(Node{.op = ExprOp::arg, .dtype = dtype, .operands = {}, .id = which});
}

namespace {

// `number` rounded to the type of elements.
double rounded(DType dtype, double number) {
  return dispatch(dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    if constexpr (requires { static_cast<double>(T(number)); })
      return static_cast<double>(T(number));
    else return number;
  });
}

}  // namespace

Expr Expr::load(int64_t tensor, DType dtype, std::vector<Expr> index, Expr outside) {
  Node node{.op = ExprOp::load, .dtype = dtype, .operands = std::move(index), .id = tensor};
  node.rank = static_cast<int>(node.operands.size());
  for (const Expr& position : node.operands) {
    if (position.dtype() != DType::i64) fail("an index is {}, not int64", name(position.dtype()));
  }
  if (outside) {
    if (outside.dtype() != dtype) {
      fail("elements of {} with {} outside: both must have one type", name(dtype),
           name(outside.dtype()));
    }
    // It takes the place of elements, so it is rounded like them.
    if (outside.is_constant() && is_float(dtype)) {
      outside = Expr::constant(dtype, rounded(dtype, outside->number));
    }
    node.operands.push_back(std::move(outside));
  }
  return Expr(std::move(node));
}

Expr Expr::linear_load(int64_t tensor, DType dtype, Expr offset) {
  Node node{.op = ExprOp::load, .dtype = dtype, .operands = {std::move(offset)}, .id = tensor};
  node.rank = 1;
  node.linear = true;
  return Expr(std::move(node));
}

Expr unary(ExprOp op, const Expr& a) {
  const DType dtype = gives_bool(op) ? DType::boolean : a.dtype();
  if (op == ExprOp::neg && a.is_constant() && a.dtype() == DType::i64 &&
      a->id != std::numeric_limits<int64_t>::min()) {
    return Expr::integer(DType::i64, -a->id);
  }
  return Expr({.op = op, .dtype = dtype, .operands = {a}});
}

Expr binary(ExprOp op, const Expr& a, const Expr& b) {
  if (a.dtype() != b.dtype()) {
    fail("{} of {} and {}: both sides must have one type", name(op), name(a.dtype()),
         name(b.dtype()));
  }
  if (Expr simpler = simplified(op, a, b)) return simpler;
  return Expr({.op = op, .dtype = gives_bool(op) ? DType::boolean : a.dtype(), .operands = {a, b}});
}

Expr select(const Expr& condition, const Expr& a, const Expr& b) {
  assert(condition.dtype() == DType::boolean);
  if (a.dtype() != b.dtype()) {
    fail("select between {} and {}: both sides must have one type", name(a.dtype()),
         name(b.dtype()));
  }
  if (condition.is_constant()) return condition->id != 0 ? a : b;
  return Expr({.op = ExprOp::select, .dtype = a.dtype(), .operands = {condition, a, b}});
}

Expr cast(DType dtype, const Expr& a) {
  if (a.dtype() == dtype) return a;
  return Expr({.op = ExprOp::cast, .dtype = dtype, .operands = {a}});
}

Expr lowest(DType dtype) {
  if (is_float(dtype)) return Expr::constant(dtype, -std::numeric_limits<double>::infinity());
  return dispatch(dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    if constexpr (std::is_integral_v<T>) {
      return Expr::integer(dtype, static_cast<int64_t>(std::numeric_limits<T>::min()));
    } else {
      const int bits = dtype == DType::i4 || dtype == DType::u4 ? 4 : 2;
      return Expr::integer(dtype, is_signed_int(dtype) ? -(1 << (bits - 1)) : 0);
    }
  });
}

Expr highest(DType dtype) {
  if (is_float(dtype)) return Expr::constant(dtype, std::numeric_limits<double>::infinity());
  return dispatch(dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    if constexpr (std::is_integral_v<T>) {
      // Constants keep integers as int64: the maximum of uint64 as -1, which has the same bits.
      return Expr::integer(dtype, static_cast<int64_t>(std::numeric_limits<T>::max()));
    } else {
      const int bits = dtype == DType::i4 || dtype == DType::u4 ? 4 : 2;
      return Expr::integer(dtype, (1 << (bits - (is_signed_int(dtype) ? 1 : 0))) - 1);
    }
  });
}

}  // namespace aoe

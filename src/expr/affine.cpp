#include "expr/affine.h"

#include <algorithm>
#include <limits>

namespace aoe {
namespace {

// Bounds and coefficients beyond this are rejected, so that sums of a few stay within int64.
constexpr int64_t kFar = int64_t{1} << 61;

// Holds any product of two int64, and sums of a few products.
using Wide = __int128;

std::optional<int64_t> narrowed(Wide value) {
  if (value < -kFar || value > kFar) return std::nullopt;
  return static_cast<int64_t>(value);
}

std::optional<Interval> interval(Wide low, Wide high) {
  const auto a = narrowed(low);
  const auto b = narrowed(high);
  if (!a || !b) return std::nullopt;
  return Interval{*a, *b};
}

// a * factor + b; none if a coefficient is too large.
std::optional<Affine> combined(const Affine& a, int64_t factor, const Affine& b) {
  Affine result = b;
  const auto constant = narrowed(Wide{a.constant} * factor + b.constant);
  if (!constant) return std::nullopt;
  result.constant = *constant;
  for (size_t i = 0; i < a.coefficients.size(); ++i) {
    const auto coefficient = narrowed(Wide{a.coefficients[i]} * factor + b.coefficients[i]);
    if (!coefficient) return std::nullopt;
    result.coefficients[i] = *coefficient;
  }
  return result;
}

bool is_number(const Affine& a) {
  return std::all_of(a.coefficients.begin(), a.coefficients.end(),
                     [](int64_t c) { return c == 0; });
}

std::optional<Interval> product(const Interval& a, const Interval& b) {
  const Wide corners[] = {Wide{a.low} * b.low, Wide{a.low} * b.high, Wide{a.high} * b.low,
                          Wide{a.high} * b.high};
  return interval(*std::min_element(corners, corners + 4), *std::max_element(corners, corners + 4));
}

// Bounds of div, mod or rem by a positive constant.
std::optional<Interval> quotient(ExprOp op, const Interval& a, int64_t divisor) {
  if (op == ExprOp::div) return Interval{a.low / divisor, a.high / divisor};
  if (floor_div(a.low, divisor) == floor_div(a.high, divisor) && a.low >= 0) {
    return Interval{a.low % divisor, a.high % divisor};
  }
  return Interval{op == ExprOp::rem && a.low < 0 ? 1 - divisor : 0, divisor - 1};
}

std::optional<Interval> interval_of_binary(ExprOp op, const Interval& a, const Interval& b) {
  switch (op) {
    case ExprOp::add: return interval(Wide{a.low} + b.low, Wide{a.high} + b.high);
    case ExprOp::sub: return interval(Wide{a.low} - b.high, Wide{a.high} - b.low);
    case ExprOp::mul: return product(a, b);
    case ExprOp::min: return Interval{std::min(a.low, b.low), std::min(a.high, b.high)};
    case ExprOp::max: return Interval{std::max(a.low, b.low), std::max(a.high, b.high)};
    case ExprOp::div:
    case ExprOp::mod:
    case ExprOp::rem:
      if (b.low == b.high && b.low > 0) return quotient(op, a, b.low);
      return std::nullopt;
    default: return std::nullopt;
  }
}

}  // namespace

std::optional<Affine> affine_of(const Expr& index, size_t axis_count) {
  Affine zero;
  zero.coefficients.resize(axis_count);
  switch (index->op) {
    case ExprOp::constant: zero.constant = index->id; return zero;
    case ExprOp::axis: zero.coefficients[static_cast<size_t>(index->id)] = 1; return zero;
    case ExprOp::neg: {
      const auto a = affine_of(index->operands[0], axis_count);
      return a ? combined(*a, -1, zero) : a;
    }
    case ExprOp::add:
    case ExprOp::sub:
    case ExprOp::mul: break;
    default: return std::nullopt;
  }
  const auto a = affine_of(index->operands[0], axis_count);
  const auto b = affine_of(index->operands[1], axis_count);
  if (!a || !b) return std::nullopt;
  if (index->op == ExprOp::add) return combined(*b, 1, *a);
  if (index->op == ExprOp::sub) return combined(*b, -1, *a);
  if (is_number(*b)) return combined(*a, b->constant, zero);
  if (is_number(*a)) return combined(*b, a->constant, zero);
  return std::nullopt;
}

std::optional<Affine> affine_offset(const std::vector<Expr>& index, const Shape& shape,
                                    size_t axis_count) {
  Affine offset{0, std::vector<int64_t>(axis_count)};
  const Shape strides = row_major_strides(shape);
  for (size_t d = 0; d < shape.size(); ++d) {
    const auto position = affine_of(index[d], axis_count);
    if (!position) return std::nullopt;
    offset.constant += strides[d] * position->constant;
    for (size_t axis = 0; axis < axis_count; ++axis) {
      offset.coefficients[axis] += strides[d] * position->coefficients[axis];
    }
  }
  return offset;
}

Expr offset_of(const std::vector<Expr>& index, const Shape& shape) {
  Expr offset = Expr::position(0);
  const Shape strides = row_major_strides(shape);
  for (size_t d = 0; d < shape.size(); ++d) offset = offset + index[d] * strides[d];
  return offset;
}

bool stays_inside(const std::vector<Expr>& index, const Shape& shape, const Shape& extents) {
  for (size_t d = 0; d < shape.size(); ++d) {
    const auto range = interval_of(index[d], extents);
    if (!range || !range->within({0, shape[d] - 1})) return false;
  }
  return true;
}

std::optional<Interval> interval_of(const Expr& index, const Shape& extents) {
  bool overflows = false;
  return interval_of(index, extents, overflows);
}

std::optional<Interval> interval_of(const Expr& index, const Shape& extents, bool& overflows) {
  const auto of_operand = [&](size_t i) {
    return interval_of(index->operands[i], extents, overflows);
  };
  // A constant beyond kFar has no interval but is known, so that adding to it counts as overflow.
  const auto is_known = [&](size_t i, const std::optional<Interval>& range) {
    return range || index->operands[i]->op == ExprOp::constant;
  };
  switch (index->op) {
    case ExprOp::constant: return interval(index->id, index->id);
    case ExprOp::axis: return Interval{0, extents[static_cast<size_t>(index->id)] - 1};
    case ExprOp::neg: {
      const auto a = of_operand(0);
      const auto range = a ? interval(-Wide{a->high}, -Wide{a->low}) : a;
      if (!range && is_known(0, a)) overflows = true;
      return range;
    }
    case ExprOp::select: {
      const auto a = of_operand(1);
      const auto b = of_operand(2);
      if (!a || !b) return std::nullopt;
      return Interval{std::min(a->low, b->low), std::max(a->high, b->high)};
    }
    case ExprOp::min:
    case ExprOp::max: {
      // A bounded operand bounds one end of the result even if the other operand is unbounded.
      constexpr Interval anything{-kFar, kFar};
      const auto a = of_operand(0);
      const auto b = of_operand(1);
      return interval_of_binary(index->op, a.value_or(anything), b.value_or(anything));
    }
    default: break;
  }
  if (index->operands.size() != 2 || index->op == ExprOp::load) return std::nullopt;
  const auto a = of_operand(0);
  const auto b = of_operand(1);
  const auto range = a && b ? interval_of_binary(index->op, *a, *b) : std::nullopt;
  const bool grows =
      index->op == ExprOp::add || index->op == ExprOp::sub || index->op == ExprOp::mul;
  if (!range && grows && is_known(0, a) && is_known(1, b)) overflows = true;
  return range;
}

}  // namespace aoe

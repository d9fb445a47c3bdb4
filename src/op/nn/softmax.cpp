#include "op/nn/softmax.h"

#include "op/families.h"
#include "op/math/reduction.h"
#include "op/operands.h"

namespace aoe {
namespace {

// x - max(x) along the axis.
Operand shifted(Builder& b, const Operand& x, int64_t axis) {
  const DType wide = wide_type(x.dtype);
  const Operand largest =
      reduce_keeping(b, max_of(wide), x, {axis}, [&](const Expr& e) { return cast(wide, e); });
  return b.map(x, largest, [&](const Expr& e, const Expr& m) { return cast(wide, e) - m; });
}

// Since opset 13, `axis` is the axis of the function. Before, the input is a matrix whose columns
// are all axes from `axis` on.
void along_axis(OpContext& op, Operand (*f)(Builder&, const Operand&, int64_t)) {
  const Operand x = float_in(op, 0);
  if (op.opset() >= 13) return op.out(f(op, x, normalize_axis(op.integer("axis", -1), x.rank())));
  const int64_t axis = op.integer("axis", 1);
  const auto split = x.shape.begin() + (axis == x.rank() ? axis : normalize_axis(axis, x.rank()));
  const Operand matrix = op.reshape(
      x, {element_count({x.shape.begin(), split}), element_count({split, x.shape.end()})});
  op.out(op.reshape(f(op, matrix, 1), x.shape));
}

// 1 at the first maximum along the axis, 0 elsewhere.
Operand hardmax(Builder& b, const Operand& x, int64_t axis) {
  if (element_count(x.shape) == 0) return x;
  const Operand best = best_position(b, x, axis, true, arg_max_of(x.dtype, false));
  return b.compute(x.shape, [&](const Axes& point) {
    const Expr& position = point[static_cast<size_t>(axis)];
    return cast(x.dtype, eq(position, best.broadcast_at(point)));
  });
}

}  // namespace

Operand softmax(Builder& b, const Operand& x, int64_t axis) {
  const Operand exponentials = b.map(shifted(b, x, axis), [](const Expr& e) { return exp(e); });
  const Operand sum = reduce_keeping(b, sum_of(exponentials.dtype), exponentials, {axis},
                                     [](const Expr& e) { return e; });
  return b.map(exponentials, sum,
               [&](const Expr& e, const Expr& s) { return cast(x.dtype, e / s); });
}

Operand log_softmax(Builder& b, const Operand& x, int64_t axis) {
  const Operand shift = shifted(b, x, axis);
  const Operand sum =
      reduce_keeping(b, sum_of(shift.dtype), shift, {axis}, [](const Expr& e) { return exp(e); });
  return b.map(shift, sum, [&](const Expr& e, const Expr& s) { return cast(x.dtype, e - log(s)); });
}

const OpTable& softmax_operators() {
  static const OpTable table{
      {"Hardmax", 1, [](OpContext& op) { along_axis(op, hardmax); }},
      {"LogSoftmax", 1, [](OpContext& op) { along_axis(op, log_softmax); }},
      {"Softmax", 1, [](OpContext& op) { along_axis(op, softmax); }},
  };
  return table;
}

}  // namespace aoe

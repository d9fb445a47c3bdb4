#include "op/math/reduction.h"

#include <algorithm>

#include "op/families.h"
#include "op/operands.h"

namespace aoe {

ReducedAxes::ReducedAxes(const Shape& shape, const std::vector<int64_t>& axes, bool keep)
    : reduced_(shape.size()), keep_(keep) {
  for (const int64_t axis : normalize_axes(axes, static_cast<int64_t>(shape.size()))) {
    reduced_[static_cast<size_t>(axis)] = true;
  }
  for (size_t axis = 0; axis < shape.size(); ++axis) {
    if (reduced_[axis]) over_.push_back(shape[axis]);
    if (!reduced_[axis]) kept_.push_back(shape[axis]);
    else if (keep) kept_.push_back(1);
  }
}

Axes ReducedAxes::index(const Axes& out, const Axes& in) const {
  Axes result;
  size_t next_in = 0;
  size_t next_out = 0;
  for (const bool reduced : reduced_) {
    result.push_back(reduced ? in[next_in++] : out[next_out]);
    if (!reduced || keep_) ++next_out;
  }
  return result;
}

std::vector<int64_t> axes_since(int64_t first, int64_t rank) {
  std::vector<int64_t> axes;
  for (int64_t axis = first; axis < rank; ++axis) axes.push_back(axis);
  return axes;
}

Operand reduce_keeping(Builder& b, const Reducer& reducer, const Operand& x,
                       const std::vector<int64_t>& axes,
                       const std::function<Expr(const Expr&)>& element) {
  const ReducedAxes layout(x.shape, axes, true);
  return b.reduce(reducer, layout.kept(), layout.over(), [&](const Axes& out, const Axes& in) {
    return element(x(layout.index(out, in)));
  });
}

Operand best_position(Builder& b, const Operand& x, int64_t axis, bool keep,
                      const Reducer& reducer) {
  const ReducedAxes layout(x.shape, {axis}, keep);
  require(layout.count() > 0, "axis {} of shape {} has no element to choose", axis,
          to_string(x.shape));
  return b.reduce_all(
      reducer, layout.kept(), layout.over(),
      [&](const Axes& out, const Axes& in) { return std::vector{x(layout.index(out, in)), in[0]}; },
      [](const Axes&, const std::vector<Expr>& r) { return std::vector{r[1]}; })[0];
}

namespace {

// Axes are an attribute in older opsets, an input in newer ones. No axes means all axes, or none
// with noop_with_empty_axes.
std::vector<int64_t> axes_of(OpContext& op) {
  std::vector<int64_t> axes = op.integers("axes", {});
  if (op.has(1)) axes = op.ints(1);
  if (!axes.empty() || op.flag("noop_with_empty_axes", false)) return axes;
  return axes_since(0, op.rank(0));
}

// Types of the computation: at least f32 for floats. Integers stay as they are (same_type), or
// become f64 for roots and logarithms (float_type).
DType same_type(DType dtype) { return is_float(dtype) ? wide_type(dtype) : dtype; }
DType float_type(DType dtype) { return is_float(dtype) ? wide_type(dtype) : DType::f64; }

struct Reduction {
  Reducer (*reducer)(DType);
  Expr (*before)(const Expr&);
  Expr (*after)(const Expr& reduced, int64_t count);
  DType (*computed_in)(DType) = same_type;
};

Expr same(const Expr& e) { return e; }
Expr magnitude(const Expr& e) { return is_unsigned_int(e.dtype()) ? e : abs(e); }
Expr squared(const Expr& e) { return e * e; }
Expr unchanged(const Expr& e, int64_t) { return e; }
Expr divided(const Expr& e, int64_t count) { return e / count; }
Expr root(const Expr& e, int64_t) { return sqrt(e); }
Expr logarithm(const Expr& e, int64_t) { return log(e); }

void reduce(OpContext& op, const Reduction& reduction) {
  const Operand x = op.in(0);
  const DType type = reduction.computed_in(x.dtype);
  const ReducedAxes layout(x.shape, axes_of(op), op.flag("keepdims", true));
  op.out(op.reduce_all(
      reduction.reducer(type), layout.kept(), layout.over(),
      [&](const Axes& out, const Axes& in) {
        return std::vector{reduction.before(cast(type, x(layout.index(out, in))))};
      },
      [&](const Axes&, const std::vector<Expr>& r) {
        return std::vector{cast(x.dtype, reduction.after(r[0], layout.count()))};
      })[0]);
}

void reduce_numbers(OpContext& op, const Reduction& reduction) {
  numeric_in(op, 0);
  reduce(op, reduction);
}

void reduce_l1(OpContext& op) { reduce_numbers(op, {sum_of, magnitude, unchanged}); }
void reduce_l2(OpContext& op) { reduce_numbers(op, {sum_of, squared, root, float_type}); }
void reduce_log_sum(OpContext& op) { reduce_numbers(op, {sum_of, same, logarithm, float_type}); }
void reduce_max(OpContext& op) { reduce(op, {max_of, same, unchanged}); }
void reduce_mean(OpContext& op) { reduce_numbers(op, {sum_of, same, divided}); }
void reduce_min(OpContext& op) { reduce(op, {min_of, same, unchanged}); }
void reduce_prod(OpContext& op) { reduce_numbers(op, {product_of, same, unchanged}); }
void reduce_sum(OpContext& op) { reduce_numbers(op, {sum_of, same, unchanged}); }
void reduce_sum_square(OpContext& op) { reduce_numbers(op, {sum_of, squared, unchanged}); }

// log(sum(exp(x - max))) + max, so that exp does not overflow. An infinite maximum is not
// subtracted: inf - inf would be NaN.
void reduce_log_sum_exp(OpContext& op) {
  const Operand x = numeric_in(op, 0);
  const DType type = float_type(x.dtype);
  const ReducedAxes layout(x.shape, axes_of(op), op.flag("keepdims", true));
  const Operand shift = op.reduce_all(
      max_of(type), layout.kept(), layout.over(),
      [&](const Axes& out, const Axes& in) {
        return std::vector{cast(type, x(layout.index(out, in)))};
      },
      [&](const Axes&, const std::vector<Expr>& r) {
        return std::vector{select(is_inf(r[0]), number_like(r[0], 0), r[0])};
      })[0];
  op.out(op.reduce_all(
      sum_of(type), layout.kept(), layout.over(),
      [&](const Axes& out, const Axes& in) {
        return std::vector{exp(cast(type, x(layout.index(out, in))) - shift(out))};
      },
      [&](const Axes& out, const std::vector<Expr>& r) {
        return std::vector{cast(x.dtype, log(r[0]) + shift(out))};
      })[0]);
}

void choose(OpContext& op, Reducer (*reducer)(DType, bool)) {
  const Operand x = numeric_in(op, 0);
  const bool last = op.flag("select_last_index", false);
  op.out(best_position(op, x, op.integer("axis", 0), op.flag("keepdims", true),
                       reducer(x.dtype, last)));
}

void arg_max(OpContext& op) { choose(op, arg_max_of); }
void arg_min(OpContext& op) { choose(op, arg_min_of); }

}  // namespace

const OpTable& reduction_operators() {
  static const OpTable table{
      {"ArgMax", 1, arg_max},
      {"ArgMin", 1, arg_min},
      {"ReduceL1", 1, reduce_l1},
      {"ReduceL2", 1, reduce_l2},
      {"ReduceLogSum", 1, reduce_log_sum},
      {"ReduceLogSumExp", 1, reduce_log_sum_exp},
      {"ReduceMax", 1, reduce_max},
      {"ReduceMean", 1, reduce_mean},
      {"ReduceMin", 1, reduce_min},
      {"ReduceProd", 1, reduce_prod},
      {"ReduceSum", 1, reduce_sum},
      {"ReduceSumSquare", 1, reduce_sum_square},
  };
  return table;
}

}  // namespace aoe

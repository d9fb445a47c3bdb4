#include "op/families.h"
#include "op/nn/softmax.h"
#include "op/operands.h"

namespace aoe {
namespace {

Operand sum_of_all(Builder& b, const Operand& x) {
  return b.reduce(sum_of(x.dtype), {}, x.shape, [&](const Axes&, const Axes& in) { return x(in); });
}

// Reads target, weight and attributes of the call. `log_probability` is [N, C, d1, ...].
Operand likelihood_loss(OpContext& op, const Operand& log_probability) {
  const Shape& shape = log_probability.shape;
  const Operand target = int_in(op, 1);
  require(shape.size() >= 2, "the input has shape {} and so no classes", to_string(shape));
  Shape expected = shape;
  expected.erase(expected.begin() + 1);
  require(target.shape == expected, "targets have shape {} where {} is expected",
          to_string(target.shape), to_string(expected));
  const std::string reduction = op.text("reduction", "mean");
  require(reduction == "none" || reduction == "sum" || reduction == "mean",
          "attribute 'reduction' is '{}', not none, sum or mean", reduction);
  const bool has_weight = op.has(2);
  const bool ignores = op.has_attr("ignore_index");
  const int64_t ignored_class = op.integer("ignore_index", 0);
  if (has_weight) {
    require(op.shape(2) == Shape{shape[1]}, "weights have shape {} for {} classes",
            to_string(op.shape(2)), shape[1]);
  }

  const DType type = log_probability.dtype;
  const DType wide = wide_type(type);
  const auto losses = op.compute_all(expected, [&](const Axes& point) {
    Expr label = cast(DType::i64, target(point));
    const Expr ignored = ignores ? eq(label, ignored_class) : Expr::integer(DType::boolean, 0);
    // The ignored class may be outside [0, C): load class 0 instead, and select 0.
    label = select(ignored, Expr::integer(DType::i64, 0), label);
    Axes index = point;
    index.insert(index.begin() + 1, label);
    const Expr zero = Expr::constant(wide, 0);
    Expr weight = Expr::constant(wide, 1);
    if (has_weight) weight = cast(wide, float_in(op, 2)({label}));
    const Expr loss = -cast(wide, log_probability(index)) * weight;
    return std::vector{select(ignored, zero, loss), select(ignored, zero, weight)};
  });
  if (reduction == "none") return op.cast_to(losses[0], type);
  const Operand total = sum_of_all(op, losses[0]);
  if (reduction == "sum") return op.cast_to(total, type);
  return op.map(total, sum_of_all(op, losses[1]),
                [&](const Expr& sum, const Expr& weights) { return cast(type, sum / weights); });
}

void negative_log_likelihood_loss(OpContext& op) { op.out(likelihood_loss(op, float_in(op, 0))); }

void softmax_cross_entropy_loss(OpContext& op) {
  const Operand scores = float_in(op, 0);
  require(scores.rank() >= 2, "scores have shape {} and so no classes", to_string(scores.shape));
  const Operand log_probability = log_softmax(op, scores, 1);
  op.out(likelihood_loss(op, log_probability));
  op.out(log_probability);
}

}  // namespace

const OpTable& loss_operators() {
  static const OpTable table{
      {"NegativeLogLikelihoodLoss", 12, negative_log_likelihood_loss},
      {"SoftmaxCrossEntropyLoss", 12, softmax_cross_entropy_loss},
  };
  return table;
}

}  // namespace aoe

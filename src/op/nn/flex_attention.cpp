#include "expr/evaluate.h"
#include "op/context.h"
#include "op/math/matmul.h"
#include "op/nn/attention.h"
#include "op/nn/softmax.h"

namespace aoe {
namespace {

// The two halves of an attention, before and after the softmax. Subgraphs may modify the values on
// either side of the softmax.
struct Flexible {
  double scale;
  DType precision;  // type of scores and probabilities
  DType dtype;

  Operand scores(Builder& b, const Operand& queries, const Operand& keys) const {
    const Operand scores = scaled_scores(
        b, {queries}, {keys}, scale,
        [&](const Axes&, const Expr& score) { return std::vector{cast(precision, score)}; })[0];
    return b.reshape(scores, {queries.shape[0], queries.shape[1], queries.shape[2], keys.shape[2]});
  }

  Operand output(Builder& b, const Operand& shares, const Operand& values) const {
    const Shape& s = shares.shape;
    require(values.shape[0] == s[0] && values.shape[1] > 0 && s[1] % values.shape[1] == 0 &&
                values.shape[2] == s[3],
            "values {} do not fit {} heads and {} keys", to_string(values.shape), s[1], s[3]);
    const Operand grouped =
        b.reshape(shares, {s[0], values.shape[1], s[1] / values.shape[1], s[2], s[3]});
    return weighted_values(b, grouped, {b.cast_to(values, precision)}, dtype, false);
  }
};

using Build = std::function<Operand(Builder&, const std::vector<Operand>&)>;

// Builds a workload of `inputs` by `build` and evaluates it immediately.
Tensor evaluated(const std::vector<Tensor>& inputs, const Build& build) {
  Builder b;
  std::vector<Operand> operands;
  for (const Tensor& input : inputs) operands.push_back(b.input(input.type()));
  const Operand result = build(b, operands);
  const Evaluator evaluator(std::make_shared<const Workload>(b.finish({result})));
  return evaluator.run(inputs, 1)[0];
}

// Applies the subgraph in an attribute to a tensor. ONNX requires a result of the same type.
Tensor changed(const HostCall& call, std::string_view attribute, const Tensor& x) {
  const std::vector<Value> results = call.run_body(attribute, {x});
  require(results.size() == 1 && results[0].is_tensor() && results[0].tensor().type() == x.type(),
          "{} must give one {}", attribute, to_string(x.type()));
  return results[0].tensor();
}

}  // namespace

void flex_attention(OpContext& op) {
  for (int i = 0; i < 3; ++i) {
    require(op.rank(i) == 4, "input {} has shape {}; [batch, heads, length, size] is expected", i,
            to_string(op.shape(i)));
  }
  const DType dtype = op.dtype(0);
  const Flexible flexible{op.real("scale", default_scale(op.shape(0)[3])),
                          softmax_type(op, product_type(dtype)), dtype};
  const bool changes_scores = op.has_body("score_mod");
  const bool changes_shares = op.has_body("prob_mod");
  if (!changes_scores && !changes_shares) {
    const Operand scores = flexible.scores(op, op.in(0), op.in(1));
    return op.out(flexible.output(op, softmax(op, scores, -1), op.in(2)));
  }

  const Shape& q = op.shape(0);
  const TensorType type{dtype, {q[0], q[1], q[2], op.shape(2)[3]}};
  op.host({type}, [=](const HostCall& call) -> std::vector<Value> {
    Tensor x = evaluated({call.inputs[0].tensor(), call.inputs[1].tensor()},
                         [&](Builder& b, const std::vector<Operand>& in) {
                           return flexible.scores(b, in[0], in[1]);
                         });
    if (changes_scores) x = changed(call, "score_mod", x);
    x = evaluated({x},
                  [](Builder& b, const std::vector<Operand>& in) { return softmax(b, in[0], -1); });
    if (changes_shares) x = changed(call, "prob_mod", x);
    return {
        evaluated({x, call.inputs[2].tensor()}, [&](Builder& b, const std::vector<Operand>& in) {
          return flexible.output(b, in[0], in[1]);
        })};
  });
}

}  // namespace aoe

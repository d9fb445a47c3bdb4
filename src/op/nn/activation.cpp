#include <cmath>
#include <numbers>

#include "op/families.h"
#include "op/operands.h"

namespace aoe {
namespace {

// Applies f to floats in at least f32; narrower types are rounded once, at the end.
void activate(OpContext& op, const std::function<Expr(const Expr&)>& f) {
  op.out(op.map(float_in(op, 0),
                [&](const Expr& x) { return cast(x.dtype(), f(cast(wide_type(x.dtype()), x))); }));
}

template <Expr (*F)(const Expr&)>
void activate(OpContext& op) {
  activate(op, F);
}

void relu(OpContext& op) {
  op.out(op.map(numeric_in(op, 0), [](const Expr& x) { return max(x, 0); }));
}

void leaky_relu(OpContext& op) {
  const double alpha = op.real("alpha", 0.01f);
  activate(op, [&](const Expr& x) { return select(lt(x, 0), alpha * x, x); });
}

void thresholded_relu(OpContext& op) {
  const double alpha = op.real("alpha", 1);
  activate(op, [&](const Expr& x) { return select(lt(alpha, x), x, number_like(x, 0)); });
}

void prelu(OpContext& op) {
  const Operand x = numeric_in(op, 0);
  Operand slope = op.in(1);
  // Before opset 7, a slope of several elements is one per channel.
  const bool by_channel = op.opset() < 7 && slope.rank() == 1 && slope.extent(0) > 1;
  if (by_channel && x.rank() > 1) slope = aligned_at(op, slope, 1, x.rank());
  require(broadcast(x.shape, slope.shape) == x.shape,
          "a slope of shape {} does not broadcast to an input of shape {}", to_string(slope.shape),
          to_string(x.shape));
  op.out(op.map(x, slope, [](const Expr& e, const Expr& s) { return select(lt(e, 0), s * e, e); }));
}

void elu(OpContext& op) {
  const double alpha = op.real("alpha", 1);
  activate(op, [&](const Expr& x) { return select(lt(x, 0), alpha * (exp(x) - 1), x); });
}

void selu(OpContext& op) {
  const double alpha = op.real("alpha", 1.67326319217681884765625);
  const double gamma = op.real("gamma", 1.05070102214813232421875);
  activate(op, [&](const Expr& x) { return gamma * select(lt(0, x), x, alpha * (exp(x) - 1)); });
}

void celu(OpContext& op) {
  const double alpha = op.real("alpha", 1);
  activate(op, [&](const Expr& x) { return max(x, 0) + min(alpha * (exp(x / alpha) - 1), 0); });
}

Expr gelu_by_erf(const Expr& x) { return 0.5 * x * (1 + erf(x * (1 / std::numbers::sqrt2))); }

Expr gelu_by_tanh(const Expr& x) {
  const double root = std::sqrt(2 / std::numbers::pi);
  return 0.5 * x * (1 + tanh(root * (x + 0.044715 * x * x * x)));
}

void gelu(OpContext& op) {
  const std::string approximate = op.text("approximate", "none");
  require(approximate == "none" || approximate == "tanh",
          "attribute 'approximate' is '{}', not none or tanh", approximate);
  activate(op, approximate == "none" ? gelu_by_erf : gelu_by_tanh);
}

Expr hard_sigmoid(const Expr& x, double alpha, double beta) {
  return clamp(alpha * x + beta, number_like(x, 0), number_like(x, 1));
}

void hard_sigmoid(OpContext& op) {
  const double alpha = op.real("alpha", 0.2f);
  const double beta = op.real("beta", 0.5);
  activate(op, [&](const Expr& x) { return hard_sigmoid(x, alpha, beta); });
}

Expr hard_swish(const Expr& x) { return x * hard_sigmoid(x, 1.0 / 6, 0.5); }

Expr swish(const Expr& x, double alpha) { return x * sigmoid(alpha * x); }

void swish(OpContext& op) {
  const double alpha = op.real("alpha", 1);
  activate(op, [&](const Expr& x) { return swish(x, alpha); });
}

void swiglu(OpContext& op) {
  const double alpha = op.real("alpha", 1);
  const Operand gate = float_in(op, 0);
  const Operand linear = op.in(1);
  require(gate.shape == linear.shape, "gate {} and linear input {} differ in shape",
          to_string(gate.shape), to_string(linear.shape));
  const DType wide = wide_type(gate.dtype);
  op.out(op.map(gate, linear, [&](const Expr& a, const Expr& b) {
    return cast(a.dtype(), swish(cast(wide, a), alpha) * cast(wide, b));
  }));
}

// log(1 + exp(x)) without overflow.
Expr softplus(const Expr& x) { return max(x, 0) + log(1 + exp(-abs(x))); }

Expr softsign(const Expr& x) { return x / (1 + abs(x)); }

Expr mish(const Expr& x) { return x * tanh(softplus(x)); }

void shrink(OpContext& op) {
  const double lambda = op.real("lambd", 0.5);
  const double bias = op.real("bias", 0);
  op.out(op.map(numeric_in(op, 0), [&](const Expr& e) {
    const Expr x = is_float(e.dtype()) ? e : cast(DType::f64, e);
    const Expr zero = number_like(x, 0);
    return cast(e.dtype(), select(lt(x, -lambda), x + bias, select(lt(lambda, x), x - bias, zero)));
  }));
}

// Bounds are attributes before opset 11, inputs since. If min > max, the result is max.
void clip(OpContext& op) {
  std::vector<Operand> operands{numeric_in(op, 0)};
  const bool has_low = op.has(1);
  const bool has_high = op.has(2);
  if (has_low) operands.push_back(scalar_in(op, 1));
  if (has_high) operands.push_back(scalar_in(op, 2));
  op.out(op.map(operands, [&](const std::vector<Expr>& elements) {
    Expr x = elements[0];
    if (has_low) x = max(x, elements[1]);
    else if (op.has_attr("min")) x = max(x, op.real("min"));
    if (has_high) x = min(x, elements.back());
    else if (op.has_attr("max")) x = min(x, op.real("max"));
    return x;
  }));
}

}  // namespace

const OpTable& activation_operators() {
  static const OpTable table{
      {"Celu", 12, celu},
      {"Clip", 1, clip},
      {"Elu", 1, elu},
      {"Gelu", 20, gelu},
      {"HardSigmoid", 1, hard_sigmoid},
      {"HardSwish", 14, activate<hard_swish>},
      {"LeakyRelu", 1, leaky_relu},
      {"Mish", 18, activate<mish>},
      {"PRelu", 1, prelu},
      {"Relu", 1, relu},
      {"Selu", 1, selu},
      {"Shrink", 9, shrink},
      {"Sigmoid", 1, activate<sigmoid>},
      {"Softplus", 1, activate<softplus>},
      {"Softsign", 1, activate<softsign>},
      {"SwiGLU", 28, swiglu},
      {"Swish", 24, swish},
      {"ThresholdedRelu", 10, thresholded_relu},
  };
  return table;
}

}  // namespace aoe

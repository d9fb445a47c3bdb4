#include "op/families.h"
#include "op/operands.h"

namespace aoe {
namespace {

constexpr std::string_view kTraining = "ai.onnx.preview.training";

// One training step. Inputs: learning rate R, update count T, then all tensors X, all their
// gradients G, then all states of each kind. Outputs: all new X, then the new states of each kind.
class Step {
 public:
  Step(OpContext& op, int states) : op_(op), states_(states) {
    const int given = op.input_count() - 2;
    require(given > 0 && given % (2 + states) == 0,
            "{} inputs, where a rate, a count and {} for each tensor are expected",
            op.input_count(), 2 + states);
    tensors_ = given / (2 + states);
    rate_ = scalar_in(op, 0);
    count_ = scalar_in(op, 1);
  }

  // Operands of an update for one element, all in the type of the tensor.
  struct Elements {
    Expr rate;
    Expr count;
    Expr x;
    Expr gradient;
    std::vector<Expr> states;
  };
  // Returns the new element, then the new states.
  using Update = std::function<std::vector<Expr>(const Elements&)>;

  void apply(const Update& update) {
    std::vector<std::vector<Operand>> results;
    for (int i = 0; i < tensors_; ++i) results.push_back(updated(i, update));
    for (size_t kind = 0; kind < static_cast<size_t>(states_) + 1; ++kind) {
      for (const auto& result : results) op_.out(result[kind]);
    }
  }

 private:
  std::vector<Operand> updated(int tensor, const Update& update) {
    std::vector<Operand> operands;
    for (int kind = 0; kind < 2 + states_; ++kind) {
      operands.push_back(float_in(op_, 2 + kind * tensors_ + tensor));
      require(operands.back().shape == operands.front().shape,
              "a tensor of shape {} comes with a gradient or state of shape {}",
              to_string(operands.front().shape), to_string(operands.back().shape));
    }
    const DType type = operands[0].dtype;
    return op_.compute_all(operands[0].shape, [&](const Axes& point) {
      Elements e{cast(type, rate_({})),
                 cast(type, count_({})),
                 operands[0](point),
                 operands[1](point),
                 {}};
      for (size_t i = 2; i < operands.size(); ++i) e.states.push_back(operands[i](point));
      return update(e);
    });
  }

  OpContext& op_;
  int states_;
  int tensors_ = 0;
  Operand rate_;
  Operand count_;
};

void adagrad(OpContext& op) {
  const double norm = op.real("norm_coefficient", 0);
  const double decay = op.real("decay_factor", 0);
  const double epsilon = op.real("epsilon", 1e-6f);
  Step(op, 1).apply([&](const Step::Elements& e) {
    const Expr rate = e.rate / (1 + e.count * decay);
    const Expr gradient = norm * e.x + e.gradient;
    const Expr squares = e.states[0] + gradient * gradient;
    return std::vector{e.x - rate * gradient / (sqrt(squares) + epsilon), squares};
  });
}

void adam(OpContext& op) {
  const double norm = op.real("norm_coefficient", 0);
  const double norm_after = op.real("norm_coefficient_post", 0);
  const double alpha = op.real("alpha", 0.9f);
  const double beta = op.real("beta", 0.999f);
  const double epsilon = op.real("epsilon", 1e-6f);
  Step(op, 2).apply([&](const Step::Elements& e) {
    const Expr gradient = norm * e.x + e.gradient;
    const Expr mean = alpha * e.states[0] + (1 - alpha) * gradient;
    const Expr squares = beta * e.states[1] + (1 - beta) * gradient * gradient;
    const Expr corrected = e.rate * sqrt(1 - pow(beta, e.count)) / (1 - pow(alpha, e.count));
    const Expr rate = select(lt(0, e.count), corrected, e.rate);
    const Expr x = e.x - rate * mean / (sqrt(squares) + epsilon);
    return std::vector{(1 - norm_after) * x, mean, squares};
  });
}

void momentum(OpContext& op) {
  const double norm = op.real("norm_coefficient");
  const double alpha = op.real("alpha");
  const double beta = op.real("beta");
  const std::string mode = op.text("mode");
  require(mode == "standard" || mode == "nesterov",
          "attribute 'mode' is '{}', not standard or nesterov", mode);
  Step(op, 1).apply([&](const Step::Elements& e) {
    const Expr gradient = norm * e.x + e.gradient;
    const Expr weight = select(lt(0, e.count), number_like(e.x, beta), number_like(e.x, 1));
    const Expr velocity = alpha * e.states[0] + weight * gradient;
    const Expr direction = mode == "standard" ? velocity : gradient + alpha * velocity;
    return std::vector{e.x - e.rate * direction, velocity};
  });
}

}  // namespace

const OpTable& optimizer_operators() {
  static const OpTable table{
      {"Adagrad", 1, adagrad, kTraining},
      {"Adam", 1, adam, kTraining},
      {"Momentum", 1, momentum, kTraining},
  };
  return table;
}

}  // namespace aoe

#include <algorithm>
#include <map>

#include "op/math/matmul.h"
#include "op/nn/recurrent.h"
#include "op/tensor/movement.h"

namespace aoe {
namespace {

// Limits the size of the workload: time is unrolled, and every step adds stages.
constexpr int64_t kMostSteps = 1 << 16;

struct Parametric {
  std::optional<double> alpha;  // default value; empty if the function has no such parameter
  std::optional<double> beta;
  Expr (*apply)(const Expr& x, double alpha, double beta);
};

// Keys in lower case: exporters spell the names differently.
const std::map<std::string, Parametric>& known_activations() {
  static const std::map<std::string, Parametric> known{
      {"affine", {1, 0, [](const Expr& x, double a, double b) { return x * a + b; }}},
      {"elu",
       {1,
        {},
        [](const Expr& x, double a, double) { return select(le(0, x), x, a * (exp(x) - 1)); }}},
      {"hardsigmoid",
       {0.2, 0.5,
        [](const Expr& x, double a, double b) {
          return clamp(x * a + b, number_like(x, 0), number_like(x, 1));
        }}},
      {"leakyrelu",
       {0.01, {}, [](const Expr& x, double a, double) { return select(le(0, x), x, a * x); }}},
      {"relu", {{}, {}, [](const Expr& x, double, double) { return max(x, 0); }}},
      {"scaledtanh", {1, 1, [](const Expr& x, double a, double b) { return a * tanh(b * x); }}},
      {"sigmoid", {{}, {}, [](const Expr& x, double, double) { return sigmoid(x); }}},
      {"softplus",
       {{},
        {},
        [](const Expr& x, double, double) {
          // Avoids the overflow of exp(x) for large x.
          return max(x, 0) + log(1 + exp(-abs(x)));
        }}},
      {"softsign", {{}, {}, [](const Expr& x, double, double) { return x / (1 + abs(x)); }}},
      {"tanh", {{}, {}, [](const Expr& x, double, double) { return tanh(x); }}},
      {"thresholdedrelu",
       {1,
        {},
        [](const Expr& x, double a, double) { return select(le(a, x), x, number_like(x, 0)); }}},
  };
  return known;
}

std::string lower_case(std::string text) {
  for (char& c : text) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return text;
}

}  // namespace

void check_steps(int64_t count) {
  require(count <= kMostSteps, "a sequence of {} steps; {} are the most", count, kMostSteps);
}

std::vector<Activation> activations_of(const OpContext& op, size_t directions,
                                       const std::vector<std::string>& defaults) {
  std::vector<std::string> names = op.texts("activations");
  const bool stated = !names.empty();
  for (size_t i = 0; i < directions && !stated; ++i) {
    names.insert(names.end(), defaults.begin(), defaults.end());
  }
  require(names.size() >= directions * defaults.size(), "{} activations where {} are expected",
          names.size(), directions * defaults.size());
  const double clip = op.real("clip", 0);
  // Only activations with a parameter consume an entry of the list.
  const auto taken_from = [](const std::vector<double>& list, size_t& next,
                             const std::optional<double>& otherwise) {
    if (!otherwise) return 0.0;
    return next < list.size() ? list[next++] : *otherwise;
  };
  const std::vector<double> alphas = op.reals("activation_alpha");
  const std::vector<double> betas = op.reals("activation_beta");
  size_t next_alpha = 0;
  size_t next_beta = 0;
  std::vector<Activation> result;
  for (const std::string& name : names) {
    const auto found = known_activations().find(lower_case(name));
    require(found != known_activations().end(), "activation '{}' is not known", name);
    const Parametric& known = found->second;
    const double alpha = taken_from(alphas, next_alpha, known.alpha);
    const double beta = taken_from(betas, next_beta, known.beta);
    result.emplace_back([=, apply = known.apply](const Expr& x) {
      const Expr input = clip > 0 ? clamp(x, number_like(x, -clip), number_like(x, clip)) : x;
      return apply(input, alpha, beta);
    });
  }
  return result;
}

Recurrence::Recurrence(OpContext& op, int64_t gates)
    : op_(op), gates_(gates), batch_first_(op.flag("layout", false)) {
  const Shape& x = op.shape(0);
  const Shape& r = op.shape(2);
  require(x.size() == 3 && r.size() == 3,
          "an input of shape {} and weights of shape {}; both "
          "should have three axes",
          to_string(x), to_string(r));
  type_ = product_type(op.dtype(0));
  const std::string direction = op.text("direction", "forward");
  require(direction == "forward" || direction == "reverse" || direction == "bidirectional",
          "direction is '{}'; forward, reverse or bidirectional are expected", direction);
  direction_count_ = direction == "bidirectional" ? 2 : 1;
  steps_ = x[batch_first_ ? 1 : 0];
  batch_ = x[batch_first_ ? 0 : 1];
  hidden_ = op.integer("hidden_size", r[2]);
  check_steps(steps_);
  const auto expect = [&](int input, const Shape& shape) {
    require(op.shape(input) == shape, "input {} has shape {}, not {}", input,
            to_string(op.shape(input)), to_string(shape));
  };
  require(hidden_ > 0, "hidden_size is {}", hidden_);
  const int64_t rows = checked_mul(gates, hidden_);
  expect(1, {direction_count_, rows, x[2]});
  expect(2, {direction_count_, rows, hidden_});
  if (op.has(3)) expect(3, {direction_count_, 2 * rows});
  if (op.has(4)) expect(4, {batch_});

  x_ = wide(0);
  const auto by_gate = [&](int input, int64_t columns) {
    return op_.reshape(wide(input), {direction_count_, gates_, hidden_, columns});
  };
  input_weights_ = by_gate(1, x[2]);
  hidden_weights_ = by_gate(2, hidden_);
  // [direction, bias of input or of hidden state, gate, hidden]
  if (op.has(3)) bias_ = op_.reshape(wide(3), {direction_count_, 2, gates_, hidden_});
  if (op.has(4)) lengths_ = op.in(4);
}

std::vector<Recurrence::Direction> Recurrence::directions() {
  std::vector<Direction> result;
  for (int64_t which = 0; which < direction_count_; ++which) {
    const Expr here = Expr::integer(DType::i64, which);
    const bool backwards = which == 1 || op_.text("direction", "forward") == "reverse";
    const Operand inputs = op_.reduce_all(
        sum_of(type_), {steps_, batch_, gates_, hidden_}, {x_->shape[2]},
        [&](const Axes& o, const Axes& in) {
          const Expr element =
              batch_first_ ? (*x_)({o[1], o[0], in[0]}) : (*x_)({o[0], o[1], in[0]});
          return std::vector{element * (*input_weights_)({here, o[2], o[3], in[0]})};
        },
        [&](const Axes& o, const std::vector<Expr>& sum) {
          if (!bias_) return sum;
          return std::vector{sum[0] + (*bias_)({here, Expr::integer(DType::i64, 0), o[2], o[3]})};
        })[0];
    result.push_back({which, backwards, inputs});
  }
  return result;
}

Operand Recurrence::initial(int index, const Direction& direction) {
  if (!op_.has(index)) {
    return op_.compute(state_shape(), [&](const Axes&) { return Expr::integer(type_, 0); });
  }
  const Operand state = op_.in(index);
  const Shape expected = batch_first_ ? Shape{batch_, direction_count_, hidden_}
                                      : Shape{direction_count_, batch_, hidden_};
  require(state.shape == expected, "input {} has shape {}, not {}", index, to_string(state.shape),
          to_string(expected));
  const Expr here = Expr::integer(DType::i64, direction.which);
  return op_.compute(state_shape(), [&](const Axes& o) {
    return cast(type_, batch_first_ ? state({o[0], here, o[1]}) : state({here, o[0], o[1]}));
  });
}

Operand Recurrence::product(const Operand& hidden, const Direction& direction, int64_t first,
                            int64_t count, const Finish& finish) {
  const Expr here = Expr::integer(DType::i64, direction.which);
  return op_.reduce_all(
      sum_of(type_), {batch_, count, hidden_}, {hidden_},
      [&](const Axes& o, const Axes& in) {
        return std::vector{hidden({o[0], in[0]}) *
                           (*hidden_weights_)({here, o[1] + first, o[2], in[0]})};
      },
      [&](const Axes& o, const std::vector<Expr>& sum) {
        if (!bias_) return std::vector{finish(o, sum[0])};
        const Expr bias = (*bias_)({here, Expr::integer(DType::i64, 1), o[1] + first, o[2]});
        return std::vector{finish(o, sum[0] + bias)};
      })[0];
}

Recurrence::Result Recurrence::run(const Direction& direction, State state, const Step& step) {
  std::vector<Operand> outputs(static_cast<size_t>(steps_));
  for (int64_t i = 0; i < steps_; ++i) {
    const int64_t time = direction.backwards ? steps_ - 1 - i : i;
    State after = step(time, state);
    Operand output = after[0];
    if (lengths_) {
      const auto ended = [&](const Axes& o) {
        return le(cast(DType::i64, (*lengths_)({o[0]})), Expr::integer(DType::i64, time));
      };
      for (size_t s = 0; s < after.size(); ++s) {
        after[s] = op_.compute(state_shape(), [&](const Axes& o) {
          return select(ended(o), state[s](o), after[s](o));
        });
      }
      output = op_.compute(state_shape(), [&](const Axes& o) {
        return select(ended(o), Expr::integer(type_, 0), after[0](o));
      });
    }
    state = std::move(after);
    outputs[static_cast<size_t>(time)] = op_.reshape(output, {1, batch_, hidden_});
  }
  if (outputs.empty()) {
    outputs.push_back(
        op_.compute({0, batch_, hidden_}, [&](const Axes&) { return Expr::integer(type_, 0); }));
  }
  return {concat(op_, outputs, 0), std::move(state)};
}

void Recurrence::finish(const std::vector<Result>& results) {
  const DType dtype = op_.dtype(0);
  // Selects the result of the direction.
  const auto chosen = [&](const Expr& direction, const auto& element) {
    Expr first = cast(dtype, element(results[0]));
    if (direction_count_ == 1) return first;
    return select(eq(direction, 0), first, cast(dtype, element(results[1])));
  };
  const Shape sequence = batch_first_ ? Shape{batch_, steps_, direction_count_, hidden_}
                                      : Shape{steps_, direction_count_, batch_, hidden_};
  op_.out(op_.compute(sequence, [&](const Axes& o) {
    return batch_first_
               ? chosen(o[2], [&](const Result& r) { return r.sequence({o[1], o[0], o[3]}); })
               : chosen(o[1], [&](const Result& r) { return r.sequence({o[0], o[2], o[3]}); });
  }));
  const Shape state = batch_first_ ? Shape{batch_, direction_count_, hidden_}
                                   : Shape{direction_count_, batch_, hidden_};
  for (size_t s = 0; s < results[0].last.size(); ++s) {
    op_.out(op_.compute(state, [&](const Axes& o) {
      const Expr& batch = o[batch_first_ ? 0 : 1];
      return chosen(o[batch_first_ ? 1 : 0],
                    [&](const Result& r) { return r.last[s]({batch, o[2]}); });
    }));
  }
}

}  // namespace aoe

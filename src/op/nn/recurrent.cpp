#include "op/nn/recurrent.h"

#include "op/families.h"

namespace aoe {
namespace {

using Direction = Recurrence::Direction;
using State = Recurrence::State;

// Inputs that not all cells have.
constexpr int kInitialHidden = 5;
constexpr int kInitialCell = 6;
constexpr int kPeepholes = 7;

Expr at_time(int64_t time) { return Expr::integer(DType::i64, time); }

// Returns the activations of one direction.
std::vector<Activation> part_for(const std::vector<Activation>& all, const Direction& direction,
                                 int64_t count) {
  const auto first = all.begin() + direction.which * count;
  return {first, first + count};
}

void rnn(OpContext& op) {
  Recurrence layer(op, 1);
  const auto activations = activations_of(op, layer.direction_count(), {"Tanh"});
  std::vector<Recurrence::Result> results;
  for (const Direction& direction : layer.directions()) {
    const Activation f = part_for(activations, direction, 1)[0];
    const auto step = [&](int64_t time, const State& before) -> State {
      const Operand hidden =
          layer.product(before[0], direction, 0, 1, [&](const Axes& o, const Expr& sum) {
            return f(sum + direction.inputs({at_time(time), o[0], o[1], o[2]}));
          });
      return {op.reshape(hidden, layer.state_shape())};
    };
    results.push_back(layer.run(direction, {layer.initial(kInitialHidden, direction)}, step));
  }
  layer.finish(results);
}

// Gates: update, reset, hidden.
void gru(OpContext& op) {
  Recurrence layer(op, 3);
  const auto activations = activations_of(op, layer.direction_count(), {"Sigmoid", "Tanh"});
  const bool linear_before_reset = op.flag("linear_before_reset", false);
  std::vector<Recurrence::Result> results;
  for (const Direction& direction : layer.directions()) {
    const auto part = part_for(activations, direction, 2);
    const Activation& f = part[0];
    const Activation& g = part[1];
    const auto gate = [](int64_t which) { return Expr::integer(DType::i64, which); };
    const auto mixed = [](const Expr& update, const Expr& candidate, const Expr& before) {
      return (1 - update) * candidate + update * before;
    };

    const auto reset_last = [&](int64_t time, const State& before) -> State {
      const Operand& hidden = before[0];
      const Operand sums =
          layer.product(hidden, direction, 0, 3, [](const Axes&, const Expr& sum) { return sum; });
      return {op.compute(layer.state_shape(), [&](const Axes& o) {
        const auto sum = [&](int64_t which) { return sums({o[0], gate(which), o[1]}); };
        const auto input = [&](int64_t which) {
          return direction.inputs({at_time(time), o[0], gate(which), o[1]});
        };
        const Expr update = f(input(0) + sum(0));
        const Expr reset = f(input(1) + sum(1));
        return mixed(update, g(input(2) + reset * sum(2)), hidden(o));
      })};
    };
    const auto reset_first = [&](int64_t time, const State& before) -> State {
      const Operand& hidden = before[0];
      const Operand gates =
          layer.product(hidden, direction, 0, 2, [&](const Axes& o, const Expr& sum) {
            return f(sum + direction.inputs({at_time(time), o[0], o[1], o[2]}));
          });
      const Operand kept = op.compute(layer.state_shape(), [&](const Axes& o) {
        return gates({o[0], gate(1), o[1]}) * hidden(o);
      });
      const Operand after =
          layer.product(kept, direction, 2, 1, [&](const Axes& o, const Expr& sum) {
            const Expr input = direction.inputs({at_time(time), o[0], gate(2), o[2]});
            return mixed(gates({o[0], gate(0), o[2]}), g(sum + input), hidden({o[0], o[2]}));
          });
      return {op.reshape(after, layer.state_shape())};
    };
    const Recurrence::Step step =
        linear_before_reset ? Recurrence::Step(reset_last) : Recurrence::Step(reset_first);
    results.push_back(layer.run(direction, {layer.initial(kInitialHidden, direction)}, step));
  }
  layer.finish(results);
}

// Gates: input, output, forget, cell.
void lstm(OpContext& op) {
  Recurrence layer(op, 4);
  const auto activations = activations_of(op, layer.direction_count(), {"Sigmoid", "Tanh", "Tanh"});
  const bool coupled = op.flag("input_forget", false);
  std::optional<Operand> peepholes;  // [direction; input, output or forget gate; hidden]
  if (op.has(kPeepholes)) {
    const Shape expected{layer.direction_count(), checked_mul(3, layer.hidden())};
    require(op.shape(kPeepholes) == expected, "input {} has shape {}, not {}", kPeepholes,
            to_string(op.shape(kPeepholes)), to_string(expected));
    peepholes = op.reshape(op.cast_to(op.in(kPeepholes), layer.type()),
                           {layer.direction_count(), 3, layer.hidden()});
  }
  std::vector<Recurrence::Result> results;
  for (const Direction& direction : layer.directions()) {
    const auto part = part_for(activations, direction, 3);
    const Activation& f = part[0];
    const Activation& g = part[1];
    const Activation& h = part[2];
    const auto step = [&](int64_t time, const State& before) -> State {
      const Operand gates =
          layer.product(before[0], direction, 0, 4, [&](const Axes& o, const Expr& sum) {
            return sum + direction.inputs({at_time(time), o[0], o[1], o[2]});
          });
      return op.compute_all(layer.state_shape(), [&](const Axes& o) {
        const auto gate = [&](int64_t which) {
          return gates({o[0], Expr::integer(DType::i64, which), o[1]});
        };
        // The gate's sum, plus its peephole weight times the cell.
        const auto peek = [&](int64_t which, const Expr& cell) {
          if (!peepholes) return gate(which);
          const Expr weight = (*peepholes)(
              {Expr::integer(DType::i64, direction.which), Expr::integer(DType::i64, which), o[1]});
          return gate(which) + weight * cell;
        };
        const Expr cell_before = before[1](o);
        const Expr input = f(peek(0, cell_before));
        const Expr forget = coupled ? 1 - input : f(peek(2, cell_before));
        const Expr cell = forget * cell_before + input * g(gate(3));
        const Expr output = f(peek(1, cell));
        return std::vector{output * h(cell), cell};
      });
    };
    const State first{layer.initial(kInitialHidden, direction),
                      layer.initial(kInitialCell, direction)};
    results.push_back(layer.run(direction, first, step));
  }
  layer.finish(results);
}

}  // namespace

const OpTable& recurrent_operators() {
  static const OpTable table{
      {"GRU", 1, gru},
      {"LSTM", 1, lstm},
      {"RNN", 1, rnn},
  };
  return table;
}

}  // namespace aoe

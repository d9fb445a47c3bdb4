#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "op/context.h"

namespace aoe {

// Fails when a sequence is too long to be laid out step by step; lengths come from files.
void check_steps(int64_t count);

using Activation = std::function<Expr(const Expr&)>;

// The activations of all directions in turn, `defaults.size()` for each, with their parameters and
// the clipping of what goes into them.
std::vector<Activation> activations_of(const OpContext& op, size_t directions,
                                       const std::vector<std::string>& defaults);

// What RNN, GRU and LSTM have in common: inputs in one layout and type, and the loop over time.
class Recurrence {
 public:
  // `gates` are the rows of hidden_size in the weights.
  Recurrence(OpContext& op, int64_t gates);

  // One direction of the layer.
  struct Direction {
    int64_t which;
    bool backwards;
    Operand inputs;  // [time, batch, gate, hidden]: the input's share of every gate, with its bias
  };
  std::vector<Direction> directions();

  // A state after each step: [batch, hidden].
  using State = std::vector<Operand>;
  // From the states before step `time` to those after it; the first is the output.
  using Step = std::function<State(int64_t time, const State& before)>;

  struct Result {
    Operand sequence;  // [time, batch, hidden]
    State last;
  };
  // Runs over time, keeping states and giving zeros where a sequence has ended.
  Result run(const Direction& direction, State state, const Step& step);

  // The state in input `index` of a direction, or zeros.
  Operand initial(int index, const Direction& direction);

  // For `count` gates from `first` on, hidden states times weights plus bias: `finish` makes a
  // result [batch, gate, hidden] of it.
  using Finish = std::function<Expr(const Axes& point, const Expr& sum)>;
  Operand product(const Operand& hidden, const Direction& direction, int64_t first, int64_t count,
                  const Finish& finish);

  // Adds the outputs: the sequences, then each of the last states.
  void finish(const std::vector<Result>& results);

  DType type() const { return type_; }
  Shape state_shape() const { return {batch_, hidden_}; }
  int64_t hidden() const { return hidden_; }
  int64_t direction_count() const { return direction_count_; }

 private:
  Operand wide(int input) { return op_.cast_to(op_.in(input), type_); }

  OpContext& op_;
  int64_t gates_;
  bool batch_first_;
  DType type_;  // of all arithmetic: float32 for narrower floats
  int64_t direction_count_;
  int64_t steps_;
  int64_t batch_;
  int64_t hidden_;
  std::optional<Operand> x_;
  std::optional<Operand> input_weights_;
  std::optional<Operand> hidden_weights_;
  std::optional<Operand> bias_;
  std::optional<Operand> lengths_;
};

}  // namespace aoe

#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "op/context.h"

namespace aoe {

// Fails if a sequence is too long to be unrolled: lengths come from files.
void check_steps(int64_t count);

using Activation = std::function<Expr(const Expr&)>;

// Returns the activations of all directions, `defaults.size()` for each, with their parameters;
// each clips its argument if the attribute `clip` is set.
std::vector<Activation> activations_of(const OpContext& op, size_t directions,
                                       const std::vector<std::string>& defaults);

// The common part of RNN, GRU and LSTM: inputs in one layout and type, and the loop over time.
class Recurrence {
 public:
  // The weights have `gates` x hidden_size rows.
  Recurrence(OpContext& op, int64_t gates);

  // One direction of the layer.
  struct Direction {
    int64_t which;
    bool backwards;
    Operand inputs;  // [time, batch, gate, hidden]: input times weights plus bias, for all steps
  };
  std::vector<Direction> directions();

  // The states after a step, each [batch, hidden].
  using State = std::vector<Operand>;
  // Computes the states after step `time` from those before it; the first state is the output.
  using Step = std::function<State(int64_t time, const State& before)>;

  struct Result {
    Operand sequence;  // [time, batch, hidden]
    State last;
  };
  // Unrolls the steps. Beyond the end of a sequence, states are kept and outputs are zero.
  Result run(const Direction& direction, State state, const Step& step);

  // Returns the initial state in input `index` for a direction, or zeros.
  Operand initial(int index, const Direction& direction);

  // Hidden state times recurrent weights plus bias, for `count` gates from `first` on. `finish` is
  // the epilogue; the result is [batch, gate, hidden].
  using Finish = std::function<Expr(const Axes& point, const Expr& sum)>;
  Operand product(const Operand& hidden, const Direction& direction, int64_t first, int64_t count,
                  const Finish& finish);

  // Appends the outputs: the sequences, then each final state.
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
  DType type_;  // of all arithmetic: f32 for narrower floats
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

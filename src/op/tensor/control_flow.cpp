#include <algorithm>

#include "op/context.h"
#include "op/families.h"
#include "op/host_kernel.h"

namespace aoe {
namespace {

std::vector<ValueType> unknown_types(const OpContext& op) {
  return std::vector<ValueType>(static_cast<size_t>(op.output_count()));
}

void require_outputs(const std::vector<Value>& results, size_t expected) {
  require(results.size() == expected, "the body has {} outputs where the node asks for {}",
          results.size(), expected);
}

void if_op(OpContext& op) {
  op.need(1);
  const auto outputs = static_cast<size_t>(op.output_count());
  op.host(unknown_types(op), [=](const HostCall& call) {
    const bool condition = only_bool(call.inputs[0]);
    std::vector<Value> results = call.run_body(condition ? "then_branch" : "else_branch", {});
    require_outputs(results, outputs);
    return results;
  });
}

// The outputs of a body in all iterations, to be stacked along a new axis.
class ScanOutput {
 public:
  void add(const Value& value) {
    const Tensor& tensor = value.tensor();
    // Bounds the memory of a loop that does not terminate. kTensorBytes is charged per tensor, so
    // that empty ones count too.
    constexpr int64_t kTensorBytes = 256;
    bytes_ = checked_add(bytes_, tensor.bytes() + kTensorBytes);
    require(bytes_ <= tensor_limit(),
            "the iterations' outputs need more than the {} MB that one "
            "tensor may have here",
            tensor_limit() >> 20);
    parts_.push_back(tensor);
  }
  void reverse() { std::reverse(parts_.begin(), parts_.end()); }

  // `declared` is the inferred type of the body's output; it gives the shape if there was no
  // iteration.
  Tensor stacked(int64_t axis, const ValueType& declared) const {
    if (!parts_.empty()) return stack(parts_, axis);
    Shape shape = declared.shape.value_or(Shape{});
    shape.insert(shape.begin() + normalize_axis(axis, std::ssize(shape) + 1), 0);
    return Tensor(declared.dtype.value_or(DType::f32), std::move(shape));
  }
  bool empty() const { return parts_.empty(); }

 private:
  std::vector<Tensor> parts_;
  int64_t bytes_ = 0;
};

// Appends the stacked outputs to `results`. If there was no iteration, their types are inferred
// from the body and the types of `inputs`.
void append_stacked(const HostCall& call, const std::vector<ScanOutput>& scanned,
                    const std::vector<int64_t>& axes, const std::vector<Value>& inputs,
                    std::vector<Value>& results) {
  std::vector<ValueType> declared;
  if (!scanned.empty() && scanned[0].empty()) {
    std::vector<ValueType> types;
    for (const Value& input : inputs) types.push_back(input.type());
    declared = call.body_outputs("body", types);
    require(declared.size() >= scanned.size(), "the body has {} outputs, fewer than {}",
            declared.size(), scanned.size());
  }
  for (size_t k = 0; k < scanned.size(); ++k) {
    const ValueType type =
        declared.empty() ? ValueType{} : declared[declared.size() - scanned.size() + k];
    results.emplace_back(scanned[k].stacked(axes[k], type));
  }
}

void loop(OpContext& op) {
  require(op.has(0) || op.has(1),
          "it has neither a trip count nor a condition and would not terminate");
  const size_t carried = static_cast<size_t>(std::max(2, op.input_count()) - 2);
  const auto outputs = static_cast<size_t>(op.output_count());
  require(outputs >= carried,
          "{} values are carried from iteration to iteration, but there are "
          "{} outputs",
          carried, outputs);
  op.host(unknown_types(op), [=](const HostCall& call) {
    const bool counted = given(call, 0);
    const bool conditional = given(call, 1);
    const int64_t trips = counted ? only_int(call.inputs[0]) : 0;
    Value condition = conditional ? call.inputs[1] : Value(Tensor::scalar(true));
    std::vector<Value> state;
    for (size_t i = 0; i < carried; ++i) state.push_back(call.inputs[2 + i]);
    std::vector<ScanOutput> scanned(outputs - carried);
    for (int64_t i = 0; (!counted || i < trips) && (!conditional || only_bool(condition)); ++i) {
      std::vector<Value> inputs{Tensor::scalar(i), condition};
      inputs.insert(inputs.end(), state.begin(), state.end());
      const std::vector<Value> results = call.run_body("body", inputs);
      require_outputs(results, 1 + outputs);
      condition = results[0];
      std::copy_n(results.begin() + 1, carried, state.begin());
      for (size_t k = 0; k < scanned.size(); ++k) scanned[k].add(results[1 + carried + k]);
    }
    std::vector<Value> inputs{Tensor::scalar<int64_t>(0), condition};
    inputs.insert(inputs.end(), state.begin(), state.end());
    append_stacked(call, scanned, std::vector<int64_t>(scanned.size(), 0), inputs, state);
    return state;
  });
}

// The attributes of Scan, for all opsets.
struct ScanRules {
  size_t states = 0;
  size_t inputs = 0;   // scanned inputs
  size_t outputs = 0;  // stacked outputs
  std::vector<int64_t> input_axes, input_reversed, output_axes, output_reversed;
};

std::vector<int64_t> one_for_each(const OpContext& op, std::string_view attribute, size_t count) {
  std::vector<int64_t> values = op.integers(attribute, std::vector<int64_t>(count, 0));
  require(values.size() == count, "attribute '{}' has {} entries for {}", attribute, values.size(),
          count);
  return values;
}

ScanRules scan_rules(const OpContext& op, int64_t inputs) {
  const int64_t scanned = op.integer("num_scan_inputs");
  require(scanned >= 1 && scanned <= inputs, "{} of {} inputs are scanned", scanned, inputs);
  ScanRules rules;
  rules.states = static_cast<size_t>(inputs - scanned);
  rules.inputs = static_cast<size_t>(scanned);
  const auto outputs = static_cast<size_t>(op.output_count());
  require(outputs >= rules.states, "{} states, but {} outputs", rules.states, outputs);
  rules.outputs = outputs - rules.states;
  rules.input_axes = one_for_each(op, "scan_input_axes", rules.inputs);
  rules.input_reversed =
      one_for_each(op, op.opset() < 9 ? "directions" : "scan_input_directions", rules.inputs);
  rules.output_axes = one_for_each(op, "scan_output_axes", rules.outputs);
  rules.output_reversed = one_for_each(op, "scan_output_directions", rules.outputs);
  return rules;
}

// Scans `length` steps, or the whole sequences. `state` holds the initial states and receives the
// final ones; returns the stacked outputs.
std::vector<Value> scan_over(const HostCall& call, const ScanRules& rules,
                             const std::vector<Tensor>& sequences, std::vector<Value>& state,
                             std::optional<int64_t> length) {
  int64_t steps = 0;
  for (size_t i = 0; i < rules.inputs; ++i) {
    const int64_t extent = view_along(sequences[i].shape(), rules.input_axes[i]).extent;
    require(i == 0 || extent == steps, "sequences of {} and {} steps", steps, extent);
    steps = extent;
  }
  if (length) {
    require(*length >= 0 && *length <= steps, "{} steps of a sequence of {}", *length, steps);
    steps = *length;
  }
  std::vector<ScanOutput> scanned(rules.outputs);
  for (int64_t step = 0; step < steps; ++step) {
    std::vector<Value> inputs = state;
    for (size_t i = 0; i < rules.inputs; ++i) {
      const int64_t at = rules.input_reversed[i] != 0 ? steps - 1 - step : step;
      inputs.emplace_back(element(sequences[i], rules.input_axes[i], at));
    }
    const std::vector<Value> results = call.run_body("body", inputs);
    require_outputs(results, rules.states + rules.outputs);
    std::copy_n(results.begin(), rules.states, state.begin());
    for (size_t k = 0; k < rules.outputs; ++k) scanned[k].add(results[rules.states + k]);
  }
  for (size_t k = 0; k < rules.outputs; ++k) {
    if (rules.output_reversed[k] != 0) scanned[k].reverse();
  }
  std::vector<Value> inputs = state;
  for (size_t i = 0; i < rules.inputs; ++i) {
    TensorType slice = sequences[i].type();
    slice.shape.erase(slice.shape.begin() +
                      normalize_axis(rules.input_axes[i], std::ssize(slice.shape)));
    if (steps == 0) inputs.emplace_back(Tensor::zeros(std::move(slice)));
  }
  std::vector<Value> outputs;
  append_stacked(call, scanned, rules.output_axes, inputs, outputs);
  return outputs;
}

// Opset 8: a separate scan per batch element; their sequences may have different lengths.
std::vector<Value> scan_batch(const HostCall& call, const ScanRules& rules) {
  const auto input = [&](size_t i) -> const Tensor& { return call.inputs[1 + i].tensor(); };
  const Tensor& first = input(rules.states);
  require(first.rank() >= 2, "{} has no batch and sequence axes", to_string(first.type()));
  const int64_t batch = first.shape()[0];
  const int64_t longest = first.shape()[1];
  std::vector<int64_t> lengths(static_cast<size_t>(std::min(batch, first.count())), longest);
  if (given(call, 0)) lengths = call.inputs[0].tensor().to_ints();
  require(std::ssize(lengths) == batch, "{} sequence lengths for a batch of {}", lengths.size(),
          batch);
  std::vector<std::vector<Tensor>> results(rules.states + rules.outputs);
  for (int64_t b = 0; b < batch; ++b) {
    const auto of_batch = [&](size_t i) {
      require(input(i).rank() >= 1 && input(i).shape()[0] == batch, "{} has no batch of {}",
              to_string(input(i).type()), batch);
      return element(input(i), 0, b);
    };
    std::vector<Value> state;
    std::vector<Tensor> sequences;
    for (size_t i = 0; i < rules.states; ++i) state.emplace_back(of_batch(i));
    for (size_t i = 0; i < rules.inputs; ++i) sequences.push_back(of_batch(rules.states + i));
    const int64_t length = lengths[static_cast<size_t>(b)];
    const std::vector<Value> outputs = scan_over(call, rules, sequences, state, length);
    for (size_t i = 0; i < rules.states; ++i) results[i].push_back(state[i].tensor());
    for (size_t k = 0; k < rules.outputs; ++k) {
      const Tensor& output = outputs[k].tensor();
      TensorType rest = output.type();
      rest.shape[0] = longest - length;
      const std::vector<Tensor> padded{output, Tensor::zeros(std::move(rest))};
      results[rules.states + k].push_back(join(padded, 0));
    }
  }
  std::vector<Value> stacked;
  for (const auto& parts : results) stacked.emplace_back(stack(parts, 0));
  return stacked;
}

void scan(OpContext& op) {
  const bool batched = op.opset() < 9;
  const ScanRules rules = scan_rules(op, op.input_count() - (batched ? 1 : 0));
  op.host(unknown_types(op), [=](const HostCall& call) {
    if (batched) return scan_batch(call, rules);
    std::vector<Value> state(call.inputs.begin(),
                             call.inputs.begin() + static_cast<int64_t>(rules.states));
    std::vector<Tensor> sequences;
    for (size_t i = 0; i < rules.inputs; ++i) {
      sequences.push_back(call.inputs[rules.states + i].tensor());
    }
    std::vector<Value> outputs = scan_over(call, rules, sequences, state, std::nullopt);
    state.insert(state.end(), outputs.begin(), outputs.end());
    return state;
  });
}

}  // namespace

const OpTable& control_flow_operators() {
  static const OpTable table{{"If", 1, if_op}, {"Loop", 1, loop}, {"Scan", 8, scan}};
  return table;
}

}  // namespace aoe

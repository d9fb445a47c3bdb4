#include "runtime/graph_runner.h"

#include <algorithm>

#include "graph/simplify.h"

namespace aoe {
namespace {

// Combinations of input types that stay prepared.
constexpr size_t kRecent = 16;

}  // namespace

std::shared_ptr<const Executable> GraphRunner::prepare(const std::vector<ValueType>& types) {
  {
    const std::lock_guard lock(mutex_);
    const auto found = std::find_if(recent_.begin(), recent_.end(),
                                    [&](const Entry& entry) { return entry.types == types; });
    if (found != recent_.end()) {
      recent_.splice(recent_.begin(), recent_, found);
      return recent_.front().executable;
    }
  }
  // Two callers with the same new types may both prepare an executable; either one can be kept.
  Graph graph = *graph_;
  for (size_t i = 0; i < types.size(); ++i) graph.value(graph.inputs[i]).type = types[i];
  simplify(graph);
  auto executable = std::make_shared<const Executable>(std::move(graph), engine_);
  const std::lock_guard lock(mutex_);
  recent_.push_front({types, executable});
  if (recent_.size() > kRecent) recent_.pop_back();
  return executable;
}

std::vector<Value> GraphRunner::run(const std::vector<Value>& inputs, StepObserver* observer) {
  require(inputs.size() == graph_->inputs.size(), "graph '{}' takes {} inputs, {} are given",
          graph_->name, graph_->inputs.size(), inputs.size());
  std::vector<ValueType> types;
  for (const Value& input : inputs) types.push_back(input.type());
  return prepare(types)->run(inputs, observer);
}

std::vector<ValueType> GraphRunner::output_types(const std::vector<ValueType>& types) {
  require(types.size() == graph_->inputs.size(), "graph '{}' takes {} inputs, {} are given",
          graph_->name, graph_->inputs.size(), types.size());
  const auto executable = prepare(types);
  std::vector<ValueType> result;
  for (size_t i = 0; i < graph_->outputs.size(); ++i) {
    const GraphValue& declared = graph_->value(graph_->outputs[i]);
    ValueType type = executable->graph().value(executable->graph().outputs[i]).type;
    if (!type.dtype && declared.declared) type.dtype = declared.declared->dtype;
    if (!type.shape && declared.dims) {
      type.shape.emplace();
      for (const Dim& dim : *declared.dims) type.shape->push_back(std::max<int64_t>(dim.size, 0));
    }
    result.push_back(std::move(type));
  }
  return result;
}

}  // namespace aoe

#include "runtime/executable.h"

#include <algorithm>
#include <cstring>

#include "base/parallel.h"
#include "graph/simplify.h"
#include "plan/layout.h"

namespace aoe {
namespace {

// A node whose shapes only a run knows is compiled when it runs, for these shapes alone: worth it
// where the reference would take longer than the compiler.
constexpr int64_t kWorthCompilingLate = int64_t{1} << 24;

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
  // Two callers with the same new types may both come here; either result serves.
  Graph graph = *graph_;
  for (size_t i = 0; i < types.size(); ++i) graph.value(graph.inputs[i]).type = types[i];
  simplify(graph);
  auto executable = std::make_shared<const Executable>(std::move(graph), engine_);
  const std::lock_guard lock(mutex_);
  recent_.push_front({types, executable});
  if (recent_.size() > kRecent) recent_.pop_back();
  return executable;
}

std::vector<Value> GraphRunner::run(const std::vector<Value>& inputs, Watch* watch) {
  require(inputs.size() == graph_->inputs.size(), "graph '{}' takes {} inputs, {} are given",
          graph_->name, graph_->inputs.size(), inputs.size());
  std::vector<ValueType> types;
  for (const Value& input : inputs) types.push_back(input.type());
  return prepare(types)->run(inputs, watch);
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

Executable::Executable(Graph graph, Engine engine)
    : graph_(std::move(graph)), engine_(std::move(engine)) {
  Plan plan = plan_of(graph_, engine_.device.has_value());
  for (PlanStep& planned : plan.steps) {
    Step& step = steps_.emplace_back();
    step.node = &graph_.nodes[static_cast<size_t>(planned.last_node())];
    for (const int node : planned.nodes) {
      step.nodes.push_back(&graph_.nodes[static_cast<size_t>(node)]);
    }
    step.changes_layout = changes_layout(planned, plan, graph_);
    step.late = planned.kind == PlanStep::Kind::late;
    step.runner.task = std::move(planned.task);
    step.runner.host = std::move(planned.host);
    step.last_uses = std::move(planned.last_uses);
    for (const Body& body : step.node->bodies) {
      step.bodies.push_back(std::make_unique<GraphRunner>(body.graph, engine_));
    }
  }
  // Compiling is most of the time that loading takes.
  parallel_for(static_cast<int64_t>(steps_.size()), 1, engine_.threads,
               [&](int64_t first, int64_t last, int) {
                 for (int64_t i = first; i < last; ++i) {
                   Step& step = steps_[static_cast<size_t>(i)];
                   if (step.late || step.runner.host) continue;
                   try {
                     make_runner(step.runner, false);
                   } catch (const Error& error) {
                     throw error.within(step.node->describe());
                   }
                 }
               });
}

void Executable::make_runner(Runner& runner, bool late) const {
  Workload& workload = runner.task.workload;
  const bool compiled = engine_.device && (!late || work_of(workload) > kWorthCompilingLate);
  if (!compiled) {
    runner.evaluator =
        std::make_shared<const Evaluator>(std::make_shared<const Workload>(std::move(workload)));
    return;
  }
  std::vector<Tensor> weights(runner.task.inputs.size());
  for (size_t i = 0; i < weights.size(); ++i) {
    if (!workload.values[static_cast<size_t>(workload.inputs[i])].weight) continue;
    weights[i] = graph_.value(runner.task.inputs[i]).constant;
  }
  runner.kernel = std::make_shared<const Kernel>(
      std::make_shared<const Workload>(std::move(workload)), *engine_.device, std::move(weights));
}

std::vector<Value> Executable::run(const std::vector<Value>& inputs, Watch* watch) const {
  const HelpersAwake helpers(engine_.threads);
  std::vector<Value> slots(graph_.values.size());
  for (size_t i = 0; i < slots.size(); ++i) {
    if (graph_.values[i].is_constant()) slots[i] = graph_.values[i].constant;
  }
  for (size_t i = 0; i < inputs.size(); ++i) {
    slots[static_cast<size_t>(graph_.inputs[i])] = inputs[i];
  }
  for (const Step& step : steps_) {
    try {
      std::vector<Value> results = run_step(step, slots, watch);
      for (size_t i = 0; i < step.node->outputs.size() && i < results.size(); ++i) {
        const int id = step.node->outputs[i];
        if (id >= 0) slots[static_cast<size_t>(id)] = std::move(results[i]);
      }
    } catch (const Error& error) {
      throw error.within(step.node->describe());
    } catch (const std::bad_alloc&) {
      throw Error("the machine's memory does not suffice").within(step.node->describe());
    }
    for (const int id : step.last_uses) slots[static_cast<size_t>(id)] = {};
  }
  std::vector<Value> outputs;
  for (const int id : graph_.outputs) outputs.push_back(slots[static_cast<size_t>(id)]);
  return outputs;
}

namespace {

// A tensor over a caller's elements, or a copy of them where their addresses suit no element.
Tensor tensor_over(const TensorView& view, const std::string& name) {
  TensorType type = view.type();
  require(view.elements != nullptr || type.count() == 0, "input '{}' is given without its elements",
          name);
  const auto width = static_cast<uintptr_t>(info(view.dtype).bytes);
  if (reinterpret_cast<uintptr_t>(view.elements) % width == 0) {
    return Tensor::over(std::move(type), view.elements, nullptr);
  }
  Tensor copy(std::move(type));
  std::memcpy(copy.raw(), view.elements, static_cast<size_t>(copy.bytes()));
  return copy;
}

}  // namespace

void Executable::run_into(std::span<const TensorView> inputs, std::span<const TensorView> outputs,
                          Watch* watch) const {
  const auto check = [&](size_t i, const ValueType& type) {
    if (type.is_static() && type.dtype != DType::string && outputs[i].is_of(type.tensor())) return;
    fail("output '{}' is {}, memory is given for {}", graph_.output_names[i], to_string(type),
         to_string(outputs[i].type()));
  };
  for (size_t i = 0; i < outputs.size(); ++i) {
    const ValueType& type = graph_.value(graph_.outputs[i]).type;
    if (type.is_static()) check(i, type);
  }
  std::vector<Value> values;
  for (size_t i = 0; i < inputs.size(); ++i) {
    values.emplace_back(tensor_over(inputs[i], graph_.value(graph_.inputs[i]).name));
  }
  const std::vector<Value> results = run(values, watch);
  for (size_t i = 0; i < outputs.size(); ++i) {
    check(i, results[i].type());
    const Tensor& made = results[i].tensor();
    if (made.bytes() == 0) continue;
    require(outputs[i].elements != nullptr, "output '{}' is asked for without memory for it",
            graph_.output_names[i]);
    std::memcpy(outputs[i].elements, made.raw(), static_cast<size_t>(made.bytes()));
  }
}

StepSeen Executable::seen(const Step& step, const Runner& runner) const {
  StepSeen seen{static_cast<size_t>(&step - steps_.data()), step.nodes};
  if (runner.kernel) seen.workload = &runner.kernel->workload();
  if (runner.evaluator) seen.workload = &runner.evaluator->workload();
  seen.compiled = runner.kernel != nullptr;
  seen.changes_layout = step.changes_layout;
  return seen;
}

std::vector<Value> Executable::run_step(const Step& step, const std::vector<Value>& slots,
                                        Watch* watch) const {
  if (watch != nullptr) watch->step_begins();
  const Node& node = *step.node;
  std::vector<Value> inputs;
  for (const int id : node.inputs) {
    inputs.push_back(id < 0 ? Value() : slots[static_cast<size_t>(id)]);
  }
  Runner late;
  if (step.late) {
    OpCall call = call_of(graph_, node);
    for (size_t i = 0; i < inputs.size(); ++i) {
      if (!call.inputs[i].present) continue;
      call.inputs[i].type = inputs[i].type();
      call.inputs[i].value = inputs[i];
    }
    Lowered lowered = lower(*node.def, call);
    require(lowered.complete, "the types of its inputs do not determine what it computes");
    if (lowered.workload) {
      late.task = task_of(std::move(lowered), node);
      make_runner(late, true);
    } else {
      late.host = std::move(lowered.host);
    }
  }
  const Runner& runner = step.late ? late : step.runner;
  std::vector<Value> results;
  if (runner.host) {
    results = run_host(step, runner, std::move(inputs), slots);
    if (watch != nullptr) watch->step_ended(seen(step, runner));
    return results;
  }
  std::vector<Tensor> tensors;
  for (const int id : runner.task.inputs) {
    tensors.push_back(slots[static_cast<size_t>(id)].tensor());
  }
  for (Tensor& tensor : runner.kernel ? runner.kernel->run(tensors, engine_.threads)
                                      : runner.evaluator->run(tensors, engine_.threads)) {
    results.emplace_back(std::move(tensor));
  }
  if (watch != nullptr) watch->step_ended(seen(step, runner));
  return results;
}

std::vector<Value> Executable::run_host(const Step& step, const Runner& runner,
                                        std::vector<Value> inputs,
                                        const std::vector<Value>& slots) const {
  const Node& node = *step.node;
  HostCall call{node.attributes, std::move(inputs), {}, {}};
  for (const int id : node.outputs) call.wanted.push_back(id >= 0);
  const auto body_named = [&](std::string_view attribute) {
    for (size_t i = 0; i < node.bodies.size(); ++i) {
      if (node.bodies[i].attribute == attribute) return i;
    }
    fail("attribute '{}' is missing", attribute);
  };
  call.run_body = [&](std::string_view attribute, std::vector<Value> values) {
    const size_t which = body_named(attribute);
    for (const int id : node.bodies[which].captured) {
      values.push_back(slots[static_cast<size_t>(id)]);
    }
    return step.bodies[which]->run(values);
  };
  call.body_outputs = [&](std::string_view attribute, std::vector<ValueType> types) {
    const size_t which = body_named(attribute);
    for (const int id : node.bodies[which].captured) {
      types.push_back(slots[static_cast<size_t>(id)].type());
    }
    return step.bodies[which]->output_types(types);
  };
  return runner.host(call);
}

}  // namespace aoe

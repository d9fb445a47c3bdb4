#include "plan/task.h"

#include <algorithm>

#include "expr/rewrite.h"

namespace aoe {
namespace {

// Returns the expression with every load of value v replaced by a load of value to[v].
Expr renumbered(const Expr& expr, const std::vector<int>& to) {
  return rewrite(expr, [&](const Expr& e) -> Expr {
    if (e->op != ExprOp::load) return {};
    std::vector<Expr> index;
    for (const Expr& position : index_of(e)) index.push_back(renumbered(position, to));
    const Expr outside = has_out_of_range_value(e) ? renumbered(e->operands.back(), to) : Expr{};
    return Expr::load(to[static_cast<size_t>(e->id)], e.dtype(), index, outside);
  });
}

void renumber(Stage& stage, const std::vector<int>& to) {
  for (Expr& expr : stage.elements) expr = renumbered(expr, to);
  for (Expr& expr : stage.results) expr = renumbered(expr, to);
  for (int& output : stage.outputs) output = to[static_cast<size_t>(output)];
}

}  // namespace

void drop_unused_stages(Workload& workload) {
  std::vector<bool> used(workload.values.size());
  const auto use = [&](int64_t value) {
    used[static_cast<size_t>(workload.storage(static_cast<int>(value)))] = true;
  };
  for (const int output : workload.outputs) use(output);
  std::vector<Stage> left;
  for (size_t s = workload.stages.size(); s-- > 0;) {
    Stage& stage = workload.stages[s];
    if (std::none_of(stage.outputs.begin(), stage.outputs.end(),
                     [&](int output) { return used[static_cast<size_t>(output)]; })) {
      continue;
    }
    for_each_load(stage, [&](const Expr& load) { use(load->id); });
    left.push_back(std::move(stage));
  }
  std::reverse(left.begin(), left.end());
  workload.stages = std::move(left);
  drop_unused_values(workload);
}

Task task_of(Lowered lowered, const Node& node) {
  Task task{std::move(*lowered.workload), {}, {}};
  Workload& workload = task.workload;
  workload.numerics = node.numerics;
  std::vector<int> wanted;
  for (size_t i = 0; i < workload.outputs.size(); ++i) {
    if (node.outputs[i] < 0) continue;
    task.outputs.push_back(node.outputs[i]);
    wanted.push_back(workload.outputs[i]);
  }
  if (wanted.size() != workload.outputs.size()) {
    workload.outputs = std::move(wanted);
    drop_unused_stages(workload);
  }
  for (const int operand : lowered.operands) {
    task.inputs.push_back(node.inputs[static_cast<size_t>(operand)]);
  }
  return task;
}

void note_weights(Task& task, const Graph& graph) {
  Workload& workload = task.workload;
  for (size_t i = 0; i < task.inputs.size(); ++i) {
    workload.values[static_cast<size_t>(workload.inputs[i])].weight =
        graph.value(task.inputs[i]).is_constant();
  }
}

void drop_unused_values(Workload& workload) {
  std::vector<bool> used(workload.values.size());
  const auto use = [&](int64_t value) {
    for (auto v = static_cast<int>(value); v >= 0;
         v = workload.values[static_cast<size_t>(v)].view_of) {
      used[static_cast<size_t>(v)] = true;
    }
  };
  for (const int input : workload.inputs) use(input);
  for (const int output : workload.outputs) use(output);
  for (const Stage& stage : workload.stages) {
    for (const int output : stage.outputs) use(output);
    for_each_load(stage, [&](const Expr& load) { use(load->id); });
  }
  std::vector<int> to(workload.values.size(), -1);
  std::vector<Workload::Value> left;
  for (size_t v = 0; v < used.size(); ++v) {
    if (!used[v]) continue;
    to[v] = static_cast<int>(left.size());
    left.push_back(std::move(workload.values[v]));
  }
  workload.values = std::move(left);
  for (Workload::Value& value : workload.values) {
    if (value.view_of >= 0) value.view_of = to[static_cast<size_t>(value.view_of)];
  }
  for (int& input : workload.inputs) input = to[static_cast<size_t>(input)];
  for (int& output : workload.outputs) output = to[static_cast<size_t>(output)];
  for (Stage& stage : workload.stages) renumber(stage, to);
}

Task copying_task(const TensorType& type, int from, int to) {
  Task task{.inputs = {from}, .outputs = {to}};
  std::vector<Expr> axes;
  Stage stage;
  for (size_t i = 0; i < type.shape.size(); ++i) {
    axes.push_back(Expr::axis(static_cast<int64_t>(i)));
    stage.axes.push_back(type.shape[i]);
  }
  task.workload.values = {{type}, {type}};
  task.workload.inputs = {0};
  task.workload.outputs = {1};
  stage.outputs = {1};
  stage.results = {Expr::load(0, type.dtype, std::move(axes))};
  task.workload.stages = {std::move(stage)};
  return task;
}

bool is_elementwise(const Task& task) {
  return task.outputs.size() == 1 && task.workload.outputs.size() == 1 &&
         !task.workload.stages.empty() &&
         std::all_of(task.workload.stages.begin(), task.workload.stages.end(),
                     [](const Stage& s) { return !s.reducer && s.results.size() == 1; });
}

Task composed(const Task& first, const Task& second) {
  Task result = first;
  Workload& whole = result.workload;
  const Workload& added = second.workload;
  std::vector<int> to(added.values.size(), -1);
  // A graph value that both tasks read, or that `second` reads several times, becomes one input.
  for (size_t i = 0; i < added.inputs.size(); ++i) {
    const auto input = static_cast<size_t>(added.inputs[i]);
    const int id = second.inputs[i];
    if (id == first.outputs[0]) {
      to[input] = first.workload.outputs[0];
      continue;
    }
    const auto known = std::find(result.inputs.begin(), result.inputs.end(), id);
    if (known != result.inputs.end()) {
      to[input] = whole.inputs[static_cast<size_t>(known - result.inputs.begin())];
      continue;
    }
    to[input] = static_cast<int>(whole.values.size());
    whole.values.push_back(added.values[input]);
    result.inputs.push_back(id);
    whole.inputs.push_back(to[input]);
  }
  for (size_t v = 0; v < added.values.size(); ++v) {
    if (to[v] >= 0) continue;
    to[v] = static_cast<int>(whole.values.size());
    whole.values.push_back(added.values[v]);
    const int source = added.values[v].view_of;
    if (source >= 0) whole.values.back().view_of = to[static_cast<size_t>(source)];
  }
  for (Stage stage : added.stages) {
    renumber(stage, to);
    whole.stages.push_back(std::move(stage));
  }
  whole.outputs.clear();
  for (const int output : added.outputs) whole.outputs.push_back(to[static_cast<size_t>(output)]);
  result.outputs = second.outputs;
  return result;
}

}  // namespace aoe

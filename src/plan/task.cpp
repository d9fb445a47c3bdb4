#include "plan/task.h"

#include <algorithm>

#include "expr/rewrite.h"

namespace aoe {

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
  // A task may take one of the graph's values several times, and so may both: it is one input.
  for (size_t i = 0; i < added.inputs.size(); ++i) {
    const auto own = static_cast<size_t>(added.inputs[i]);
    const int id = second.inputs[i];
    if (id == first.outputs[0]) {
      to[own] = first.workload.outputs[0];
      continue;
    }
    const auto known = std::find(result.inputs.begin(), result.inputs.end(), id);
    if (known != result.inputs.end()) {
      to[own] = whole.inputs[static_cast<size_t>(known - result.inputs.begin())];
      continue;
    }
    to[own] = static_cast<int>(whole.values.size());
    whole.values.push_back(added.values[own]);
    result.inputs.push_back(id);
    whole.inputs.push_back(to[own]);
  }
  for (size_t v = 0; v < added.values.size(); ++v) {
    if (to[v] >= 0) continue;
    to[v] = static_cast<int>(whole.values.size());
    whole.values.push_back(added.values[v]);
    const int source = added.values[v].view_of;
    if (source >= 0) whole.values.back().view_of = to[static_cast<size_t>(source)];
  }
  const auto moved = [&](const Expr& expr) {
    const std::function<Expr(const Expr&)> replace = [&](const Expr& e) -> Expr {
      if (e->op != ExprOp::load) return {};
      std::vector<Expr> index;
      for (const Expr& position : index_of(e)) index.push_back(rewrite(position, replace));
      const Expr outside = has_outside(e) ? rewrite(e->operands.back(), replace) : Expr{};
      return Expr::load(to[static_cast<size_t>(e->id)], e.dtype(), index, outside);
    };
    return rewrite(expr, replace);
  };
  for (Stage stage : added.stages) {
    for (Expr& expr : stage.elements) expr = moved(expr);
    for (Expr& expr : stage.results) expr = moved(expr);
    for (int& output : stage.outputs) output = to[static_cast<size_t>(output)];
    whole.stages.push_back(std::move(stage));
  }
  whole.outputs.clear();
  for (const int output : added.outputs) whole.outputs.push_back(to[static_cast<size_t>(output)]);
  result.outputs = second.outputs;
  return result;
}

}  // namespace aoe

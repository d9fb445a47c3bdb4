#include <algorithm>
#include <set>

#include "plan/plan.h"

namespace aoe {

// Plans the graph once by the estimate and records the tasks whose cost choose_layouts asks for.
std::vector<LayoutTask> layout_tasks(Graph graph, const Device& device) {
  const TaskCost estimated = estimated_cost(device);
  std::vector<LayoutTask> asked;
  std::map<std::vector<int>, size_t> of_outputs;  // a task has the same outputs in all layouts
  std::set<uint64_t> seen;
  TaskCost noting = [&](const Task& task) {
    const double seconds = estimated(task);
    if (seconds <= 0 || !seen.insert(key_of(task.workload)).second) return seconds;
    // The copies that choose_layouts uses as a penalty write no graph value: one entry each.
    size_t index = asked.size();
    if (task.outputs[0] >= 0) index = of_outputs.try_emplace(task.outputs, index).first->second;
    if (index == asked.size()) asked.push_back({{}, seconds});
    asked[index].variants.push_back(task.workload);
    return seconds;
  };
  plan_of(graph, device, [&](const std::string&) { return noting; });
  std::stable_sort(asked.begin(), asked.end(), [](const LayoutTask& a, const LayoutTask& b) {
    return a.estimated_s > b.estimated_s;
  });
  return asked;
}

}  // namespace aoe

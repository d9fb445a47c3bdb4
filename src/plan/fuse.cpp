#include <algorithm>

#include "plan/epilogue.h"
#include "plan/plan.h"

namespace aoe {
namespace {

// Maximum number of stages of a fused task. Longer chains gain nothing, and their compile time
// grows faster than their length.
constexpr size_t kMaxFusedStages = 32;

std::vector<int> distinct(std::vector<int> ids) {
  std::sort(ids.begin(), ids.end());
  ids.erase(std::unique(ids.begin(), ids.end()), ids.end());
  return ids;
}

class Fuser {
 public:
  Fuser(Plan& plan, const Graph& graph)
      : plan_(plan), uses_(graph.values.size()), maker_(graph.values.size()) {
    count(graph.outputs);
    for (const PlanStep& step : plan.steps) count(distinct(values_read(step, graph)));
  }

  void run() {
    for (PlanStep& step : plan_.steps) {
      if (step.kind != PlanStep::Kind::workload) continue;
      if (is_elementwise(step.task)) {
        // Elementwise producers first, so that they become part of the epilogue.
        for (const bool elementwise : {true, false}) join_makers(step, elementwise);
      }
      const std::vector<int>& outputs = step.task.outputs;
      if (outputs.size() == 1 && outputs[0] >= 0) maker(outputs[0]) = &step;
    }
    std::erase_if(plan_.steps, [](const PlanStep& step) { return step.nodes.empty(); });
  }

 private:
  void count(const std::vector<int>& ids) {
    for (const int id : ids) {
      if (id >= 0) ++uses_[static_cast<size_t>(id)];
    }
  }
  PlanStep*& maker(int id) { return maker_[static_cast<size_t>(id)]; }

  // Merges the producers of the step's inputs into it, where it is the only reader: elementwise
  // producers, or reductions, of which the step becomes the epilogue.
  void join_makers(PlanStep& step, bool elementwise) {
    Task& task = step.task;
    for (const int id : std::vector<int>(task.inputs)) {
      PlanStep* const before = maker(id);
      if (before == nullptr || uses_[static_cast<size_t>(id)] != 1) continue;
      const Task& first = before->task;
      if (is_elementwise(first) != elementwise) continue;
      if (task.workload.stages.size() + first.workload.stages.size() > kMaxFusedStages) continue;
      std::optional<Task> whole =
          elementwise ? std::optional(composed(first, task)) : with_epilogue(first, task);
      if (!whole) continue;
      // A value that both tasks read has one reader less.
      for (const int shared : distinct(first.inputs)) {
        if (std::count(task.inputs.begin(), task.inputs.end(), shared) > 0) {
          --uses_[static_cast<size_t>(shared)];
        }
      }
      task = std::move(*whole);
      step.nodes.insert(step.nodes.end(), before->nodes.begin(), before->nodes.end());
      std::sort(step.nodes.begin(), step.nodes.end());
      *before = {};
      maker(id) = nullptr;  // the loop may meet the same input again
    }
  }

  Plan& plan_;
  std::vector<int> uses_;         // by value: number of steps and graph outputs that read it
  std::vector<PlanStep*> maker_;  // by value: the step whose only output it is, or null
};

}  // namespace

void fuse(Plan& plan, const Graph& graph) { Fuser(plan, graph).run(); }

}  // namespace aoe

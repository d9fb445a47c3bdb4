#include "plan/layout.h"

#include <algorithm>
#include <set>

#include "policy/contraction.h"

namespace aoe {
namespace {

// Whether a weight's products would be laid out along what is not the weight's: a convolution whose
// channels do not come last.
bool wants_channels_last(const Task& task) {
  return std::any_of(
      task.workload.stages.begin(), task.workload.stages.end(), [&](const Stage& stage) {
        const auto c = contraction_of(stage);
        return c && is_fixed(task.workload, c->left) && !is_fixed(task.workload, c->right);
      });
}

bool contracts(const Task& task) {
  return std::any_of(task.workload.stages.begin(), task.workload.stages.end(),
                     [](const Stage& stage) { return contraction_of(stage).has_value(); });
}

// A plane of one point lies the same way wherever its channels are, and so does nothing at all.
bool can_lie_otherwise(const ValueType& type) {
  const auto& shape = type.shape;
  if (!shape || shape->size() < 3) return false;
  const int64_t count = element_count(*shape);
  return count != 0 && count != (*shape)[0] * (*shape)[1];
}

class LayoutChoice {
 public:
  LayoutChoice(Plan& plan, const Graph& graph)
      : plan_(plan), graph_(graph), fixed_(graph.values.size()) {}

  void choose() {
    fix_what_others_see();
    spread();
    // A value that one task cannot take so is as it was for all, which the others are then made
    // for.
    while (!rewritten()) {
    }
    for (PlanStep& step : plan_.steps) step.changes_layout = changes_layout(step);
  }

 private:
  bool changes_layout(const PlanStep& step) const {
    const auto lies = [&](const std::vector<int>& values, bool otherwise) {
      return std::any_of(values.begin(), values.end(), [&](int id) {
        return id >= 0 && !graph_.value(id).is_constant() &&
               can_lie_otherwise(graph_.value(id).type) && plan_.layouts.contains(id) == otherwise;
      });
    };
    const std::vector<int> read = values_read(step, graph_);
    const std::vector<int>& made = values_made(step, graph_);
    return (lies(read, true) && !lies(made, true) && lies(made, false)) ||
           (lies(made, true) && !lies(read, true) && lies(read, false));
  }

  static bool is_workload(const PlanStep& step) { return step.kind == PlanStep::Kind::workload; }

  void fix(const std::vector<int>& values) {
    for (const int id : values) {
      if (id >= 0) fixed_[static_cast<size_t>(id)] = true;
    }
  }

  void fix_what_others_see() {
    fix(graph_.inputs);
    fix(graph_.outputs);
    for (size_t id = 0; id < graph_.values.size(); ++id) {
      if (graph_.values[id].is_constant()) fixed_[id] = true;
    }
    for (const PlanStep& step : plan_.steps) {
      if (is_workload(step)) continue;
      fix(values_read(step, graph_));
      fix(values_made(step, graph_));
    }
  }

  // From what convolutions take and make on to what is computed of it and with it.
  void spread() {
    bool found = true;
    std::vector<bool> done(plan_.steps.size());
    while (found) {
      found = false;
      for (size_t i = 0; i < plan_.steps.size(); ++i) {
        const PlanStep& step = plan_.steps[i];
        if (done[i] || !is_workload(step)) continue;
        const bool convolves = wants_channels_last(step.task);
        if (!convolves && (contracts(step.task) || !touches(step.task))) continue;
        done[i] = found = true;
        add(step.task.inputs);
        add(step.task.outputs);
      }
    }
  }

  bool touches(const Task& task) const {
    const auto is_last = [&](int id) { return id >= 0 && last_.contains(id); };
    return std::any_of(task.inputs.begin(), task.inputs.end(), is_last) ||
           std::any_of(task.outputs.begin(), task.outputs.end(), is_last);
  }

  void add(const std::vector<int>& values) {
    for (const int id : values) {
      if (id < 0 || fixed_[static_cast<size_t>(id)]) continue;
      if (can_lie_otherwise(graph_.value(id).type)) last_.insert(id);
    }
  }

  // False if a value had to be left as it is.
  bool rewritten() {
    std::vector<Task> tasks;
    for (const PlanStep& step : plan_.steps) {
      tasks.push_back(step.task);
      if (!is_workload(step)) continue;
      std::set<int> values(step.task.inputs.begin(), step.task.inputs.end());
      values.insert(step.task.outputs.begin(), step.task.outputs.end());
      for (const int id : values) {
        if (!last_.contains(id)) continue;
        auto moved =
            with_layout(tasks.back(), id, channels_last(graph_.value(id).type.shape->size()));
        if (!moved) {
          last_.erase(id);
          return false;
        }
        tasks.back() = std::move(*moved);
      }
    }
    for (size_t i = 0; i < tasks.size(); ++i) plan_.steps[i].task = std::move(tasks[i]);
    for (const int id : last_) {
      plan_.layouts[id] = channels_last(graph_.value(id).type.shape->size());
    }
    return true;
  }

  Plan& plan_;
  const Graph& graph_;
  std::vector<bool> fixed_;
  std::set<int> last_;  // values whose channels come last
};

}  // namespace

void choose_layouts(Plan& plan, const Graph& graph) { LayoutChoice(plan, graph).choose(); }

}  // namespace aoe

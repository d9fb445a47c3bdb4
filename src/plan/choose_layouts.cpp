#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <set>

#include "expr/affine.h"
#include "expr/rewrite.h"
#include "plan/least_cost.h"
#include "plan/plan.h"
#include "policy/contraction.h"

// Around convolutions and windows every value between tasks can lie in a few layouts. What a task
// takes depends on those of its values, also on whether they are the same: a task that takes one
// layout and makes another pays for the conversion. The sum over all tasks is made least.

namespace aoe {
namespace {

// The layouts of a value that are looked at, by option. Not all have blocks.
std::vector<Layout> layouts_of(const Shape& shape) {
  std::vector<Layout> layouts{channels_first(shape.size()), channels_last(shape.size())};
  // Vectors of floats, one or two: the longest blocks that there are.
  for (const int64_t block : {16, 8}) {
    if (shape[1] % block != 0) continue;
    layouts.push_back(channels_blocked(shape.size(), block));
    break;
  }
  return layouts;
}

bool contracts(const Stage& stage) { return contraction_of(stage).has_value(); }

// Whether a weight's products would be laid out along what is not the weight's: a convolution.
bool convolves(const Workload& workload, const Stage& stage) {
  const auto c = contraction_of(stage);
  return c && is_fixed(workload, c->left) && !is_fixed(workload, c->right);
}

// Whether what is reduced is seen through windows: a position is one of an output axis and a
// reduced one.
bool has_windows(const Stage& stage) {
  if (!stage.reducer) return false;
  const size_t rank = stage.extents().size();
  return std::any_of(stage.elements.begin(), stage.elements.end(), [&](const Expr& element) {
    return any_node(element, [&](const Expr& e) {
      if (e->op != ExprOp::load) return false;
      for (const Expr& position : index_of(e)) {
        const auto form = affine_of(position, rank);
        if (!form) continue;
        const auto moves = [](int64_t c) { return c != 0; };
        const auto middle = form->coefficients.begin() + static_cast<int64_t>(stage.axes.size());
        if (std::any_of(form->coefficients.begin(), middle, moves) &&
            std::any_of(middle, form->coefficients.end(), moves)) {
          return true;
        }
      }
      return false;
    });
  });
}

class LayoutChoice {
 public:
  LayoutChoice(Plan& plan, const Graph& graph, const TaskCost& cost)
      : plan_(plan), graph_(graph), cost_(cost), fixed_(seen_by_others(plan, graph)) {}

  void choose() {
    spread();
    if (variables_.empty()) return;
    std::vector<int> options;
    for (const int id : variables_) {
      layouts_.push_back(layouts_of(*graph_.value(id).type.shape));
      options.push_back(static_cast<int>(layouts_.back().size()));
    }
    std::vector<CostTerm> terms;
    for (size_t i = 0; i < plan_.steps.size(); ++i) {
      if (is_workload(plan_.steps[i])) add_term(terms, plan_.steps[i].task);
    }
    const std::vector<int> chosen = least_cost(options, terms);
    for (PlanStep& step : plan_.steps) {
      if (is_workload(step)) step.task = *with_options(step.task, chosen);
    }
    for (size_t v = 0; v < chosen.size(); ++v) {
      if (chosen[v] != 0) plan_.layouts[variables_[v]] = layout(v, chosen[v]);
    }
    for (PlanStep& step : plan_.steps) step.changes_layout = changes_layout(step);
  }

 private:
  // Whether it could lie otherwise, were it not for who sees it.
  bool is_movable(int id) const {
    return id >= 0 && !graph_.value(id).is_constant() && can_lie_otherwise(graph_.value(id).type);
  }

  // How the values lie that could lie otherwise; values of several ranks can lie alike.
  std::set<int64_t> ways(const std::vector<int>& values) const {
    std::set<int64_t> found;
    for (const int id : values) {
      if (!is_movable(id)) continue;
      const auto layout = plan_.layouts.find(id);
      constexpr int64_t kLast = 0;
      if (layout == plan_.layouts.end()) found.insert(1);
      else found.insert(layout->second.block > 1 ? layout->second.block : kLast);
    }
    return found;
  }

  bool changes_layout(const PlanStep& step) const {
    const std::set<int64_t> read = ways(values_read(step, graph_));
    const std::set<int64_t> made = ways(values_made(step, graph_));
    return !read.empty() && !made.empty() &&
           std::none_of(read.begin(), read.end(), [&](int64_t way) { return made.contains(way); });
  }

  static bool is_workload(const PlanStep& step) { return step.kind == PlanStep::Kind::workload; }

  // From what convolutions and windows take and make on to what is computed of it and with it:
  // elsewhere channels mean nothing.
  void spread() {
    std::set<int> found;
    const auto touches = [&](const std::vector<int>& values) {
      return std::any_of(values.begin(), values.end(), [&](int id) { return found.contains(id); });
    };
    std::vector<bool> done(plan_.steps.size());
    for (bool changed = true; changed;) {
      changed = false;
      for (size_t i = 0; i < plan_.steps.size(); ++i) {
        if (done[i] || !is_workload(plan_.steps[i])) continue;
        const Task& task = plan_.steps[i].task;
        const auto any_stage = [&](const auto& holds) {
          return std::any_of(task.workload.stages.begin(), task.workload.stages.end(), holds);
        };
        const bool begins = any_stage([&](const Stage& stage) {
          return convolves(task.workload, stage) || has_windows(stage);
        });
        if (!begins && (any_stage(contracts) || !(touches(task.inputs) || touches(task.outputs)))) {
          continue;
        }
        done[i] = changed = true;
        for (const std::vector<int>* values : {&task.inputs, &task.outputs}) {
          for (const int id : *values) {
            if (is_movable(id) && !fixed_[static_cast<size_t>(id)]) found.insert(id);
          }
        }
      }
    }
    variables_.assign(found.begin(), found.end());
  }

  const Layout& layout(size_t variable, int option) const {
    return layouts_[variable][static_cast<size_t>(option)];
  }

  // Those that a task touches, in the order in which it does.
  std::vector<int> variables_of(const Task& task) const {
    std::vector<int> result;
    for (const std::vector<int>* values : {&task.inputs, &task.outputs}) {
      for (const int id : *values) {
        const auto at = std::lower_bound(variables_.begin(), variables_.end(), id);
        if (at == variables_.end() || *at != id) continue;
        const auto v = static_cast<int>(at - variables_.begin());
        if (std::find(result.begin(), result.end(), v) == result.end()) result.push_back(v);
      }
    }
    return result;
  }

  // Nothing if it cannot be.
  std::optional<Task> with_options(Task task, const std::vector<int>& chosen) const {
    for (const int v : variables_of(task)) {
      const auto variable = static_cast<size_t>(v);
      if (chosen[variable] == 0) continue;
      auto moved = with_layout(task, variables_[variable], layout(variable, chosen[variable]));
      if (!moved) return std::nullopt;
      task = std::move(*moved);
    }
    return task;
  }

  // Tasks that are the same but for the names of their values cost the same.
  void add_term(std::vector<CostTerm>& terms, const Task& task) {
    const std::vector<int> variables = variables_of(task);
    if (variables.empty()) return;
    std::string text = to_string(task.workload);
    for (const std::vector<int>* values : {&task.inputs, &task.outputs}) {
      for (const int id : *values) {
        const auto at = std::find_if(variables.begin(), variables.end(), [&](int v) {
          return variables_[static_cast<size_t>(v)] == id;
        });
        const bool fixed = is_movable(id) && fixed_[static_cast<size_t>(id)];
        text += fmt::format(" {}{}", at - variables.begin(), fixed ? " fixed" : "");
      }
    }
    std::map<std::vector<int>, double>* const known = &known_[text];
    terms.push_back({variables, [=, this, &task](const std::vector<int>& options) {
                       const auto [at, fresh] = known->try_emplace(options, INFINITY);
                       if (fresh) at->second = cost_of(task, variables, options);
                       return at->second;
                     }});
  }

  double cost_of(const Task& task, const std::vector<int>& variables,
                 const std::vector<int>& options) {
    // From one layout that is not the caller's to another one nothing is converted.
    int other = 0;
    for (const int option : options) {
      if (option != 0 && other != 0 && option != other) return INFINITY;
      if (option != 0) other = option;
    }
    std::vector<int> chosen(variables_.size());
    for (size_t i = 0; i < options.size(); ++i) {
      chosen[static_cast<size_t>(variables[i])] = options[i];
    }
    const auto moved = with_options(task, chosen);
    if (!moved) return INFINITY;
    return cost_(*moved) + (converts(task, chosen) ? least_copy(task) : 0);
  }

  // Costs err, and a conversion that gains little is more likely a loss: whoever converts is
  // thought to take as much longer as a copy of the smallest of its values takes.
  double least_copy(const Task& task) {
    double least = INFINITY;
    for (const std::vector<int>* values : {&task.inputs, &task.outputs}) {
      for (const int id : *values) {
        if (is_movable(id)) least = std::min(least, copy_seconds(graph_.value(id).type.tensor()));
      }
    }
    return std::isfinite(least) ? least : 0;
  }

  double copy_seconds(const TensorType& type) {
    const auto [at, fresh] = copies_.try_emplace({type.dtype, type.shape}, INFINITY);
    if (fresh) {
      // Of no value of the graph.
      const auto copy =
          with_layout(copying_task(type, -2, -1), -1, channels_last(type.shape.size()));
      if (copy) at->second = cost_(*copy);
    }
    return at->second;
  }

  // Whether values of a task lie differently that could lie alike, those that stay as they are
  // among them.
  bool converts(const Task& task, const std::vector<int>& chosen) const {
    std::set<int> met;
    for (const int v : variables_of(task)) met.insert(chosen[static_cast<size_t>(v)]);
    for (const std::vector<int>* values : {&task.inputs, &task.outputs}) {
      for (const int id : *values) {
        if (is_movable(id) && fixed_[static_cast<size_t>(id)]) met.insert(0);
      }
    }
    return met.size() > 1;
  }

  Plan& plan_;
  const Graph& graph_;
  const TaskCost& cost_;
  std::vector<bool> fixed_;
  std::vector<int> variables_;                // values of the graph, in order
  std::vector<std::vector<Layout>> layouts_;  // of each, by option
  // By a task's text, which of its values are the same and which stay as they are.
  std::map<std::string, std::map<std::vector<int>, double>> known_;
  std::map<std::pair<DType, Shape>, double> copies_;  // to another layout
};

}  // namespace

bool can_lie_otherwise(const ValueType& type) {
  const auto& shape = type.shape;
  if (!shape || shape->size() < 3) return false;
  const int64_t count = element_count(*shape);
  return count != 0 && count != (*shape)[0] * (*shape)[1];
}

bool convolves_channels(const Task& task) {
  return std::any_of(
      task.workload.stages.begin(), task.workload.stages.end(), [&](const Stage& stage) {
        return convolves(task.workload, stage) && contraction_of(stage)->row_count > 1;
      });
}

std::vector<bool> seen_by_others(const Plan& plan, const Graph& graph) {
  std::vector<bool> seen(graph.values.size());
  const auto add = [&](const std::vector<int>& values) {
    for (const int id : values) {
      if (id >= 0) seen[static_cast<size_t>(id)] = true;
    }
  };
  add(graph.inputs);
  add(graph.outputs);
  for (size_t id = 0; id < graph.values.size(); ++id) {
    if (graph.values[id].is_constant()) seen[id] = true;
  }
  for (const PlanStep& step : plan.steps) {
    if (step.kind == PlanStep::Kind::workload) continue;
    add(values_read(step, graph));
    add(values_made(step, graph));
  }
  return seen;
}

void choose_layouts(Plan& plan, const Graph& graph, const TaskCost& cost) {
  LayoutChoice(plan, graph, cost).choose();
}

}  // namespace aoe

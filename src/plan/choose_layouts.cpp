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

// Chooses layouts for the values between tasks that minimize the total cost of all tasks, estimated
// or measured (plan/task_cost.h). In reading order:
//   spread         which values take part: the variables
//   add_term       one cost for each task, a function of the layouts of its values
//   least_cost     solves for all variables at once (plan/least_cost.h)
//   cost_of        the time of a task with given layouts, and a penalty for converting
//   with_layout    rewrites a task for a layout of one of its values (plan/relayout.cpp)
//
// The options of a value of shape N x C x H x W, in memory order (the last dimension contiguous):
//
//   0  NCHW     channels first: the order of the graph's dimensions, and of the caller's memory
//   1  NHWC     channels last: products with weights have contiguous channels
//   2  NCHW16c  blocks of 16 or 8 channels innermost, if they divide C
//
//         conv ---- v1 ---- pool ---- v2 ---- conv         variables v1, v2
//      term(v1)         term(v1, v2)        term(v2)       terms: tasks
//
// (A relu between them would be part of the first task: plan/fuse.cpp.)
//
// Between tasks there is no separate conversion step: a task that reads one layout and writes
// another converts on the way, in its loads or stores. Only at values that others see,
// plan/conversions.cpp has inserted copying steps before this pass; it drops the unused ones after
// it.
//
// Invariants: option 0 of every variable is the layout that the plan came with, and is always
// possible. Values that others see (inputs, outputs, constants, host kernels' values) keep it.

namespace aoe {
namespace {

// The layouts of a value, by option: two if no block size divides the channels, else three.
std::vector<Layout> layouts_of(const Shape& shape) {
  std::vector<Layout> layouts{channels_first(shape.size()), channels_last(shape.size())};
  // A block is one AVX-512 vector of floats, or two AVX2 ones; 8 where 16 does not divide the
  // channels.
  for (const int64_t block : {16, 8}) {
    if (shape[1] % block != 0) continue;
    layouts.push_back(channels_blocked(shape.size(), block));
    break;
  }
  return layouts;
}

bool contracts(const Stage& stage) { return contraction_of(stage).has_value(); }

// Whether weights are the left side of a product: a convolution in channels-first layout, whose
// columns are pixels. Other products (dense layers) gain nothing from a layout of channels.
bool convolves(const Workload& workload, const Stage& stage) {
  const auto c = contraction_of(stage);
  return c && is_constant(workload, c->left) && !is_constant(workload, c->right);
}

// Whether the stage reduces windows (pooling): a position is the sum of an output axis and a
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
      : plan_(plan), graph_(graph), cost_(cost), pinned_(seen_by_others(plan, graph)) {}

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
  // Whether the value has alternative layouts, leaving aside who uses it.
  bool is_movable(int id) const {
    return id >= 0 && !graph_.value(id).is_constant() &&
           has_alternative_layout(graph_.value(id).type);
  }

  // The layouts that occur among values that have alternatives, as one number each, so that values
  // of different ranks compare: 1 is channels first, 0 channels last, else the block.
  std::set<int64_t> variants(const std::vector<int>& values) const {
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
    const std::set<int64_t> read = variants(values_read(step, graph_));
    const std::set<int64_t> made = variants(values_made(step, graph_));
    return !read.empty() && !made.empty() &&
           std::none_of(read.begin(), read.end(), [&](int64_t way) { return made.contains(way); });
  }

  static bool is_workload(const PlanStep& step) { return step.kind == PlanStep::Kind::workload; }

  // The variables are the values of convolutions and windows, and from there those of all tasks
  // that share a value with them, until nothing is added. Elsewhere the second dimension need not
  // be channels. Other contractions stop the spreading: no other layout makes them faster.
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
            if (is_movable(id) && !pinned_[static_cast<size_t>(id)]) found.insert(id);
          }
        }
      }
    }
    variables_.assign(found.begin(), found.end());
  }

  const Layout& layout(size_t variable, int option) const {
    return layouts_[variable][static_cast<size_t>(option)];
  }

  // The variables of a task, each once, in the order of its inputs and outputs.
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

  // The task with the chosen layouts. Nothing if one of them is impossible for it.
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

  // Estimates are the expensive part, and networks repeat their tasks. The key is therefore the
  // workload's text with, for each value, which variable of the task it is and whether it is
  // pinned: tasks of one key have the same cost for the same options, and share a table.
  void add_term(std::vector<CostTerm>& terms, const Task& task) {
    const std::vector<int> variables = variables_of(task);
    if (variables.empty()) return;
    std::string text = to_string(task.workload);
    for (const std::vector<int>* values : {&task.inputs, &task.outputs}) {
      for (const int id : *values) {
        const auto at = std::find_if(variables.begin(), variables.end(), [&](int v) {
          return variables_[static_cast<size_t>(v)] == id;
        });
        const bool pinned = is_movable(id) && pinned_[static_cast<size_t>(id)];
        text += fmt::format(" {}{}", at - variables.begin(), pinned ? " pinned" : "");
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
    // A task may convert between option 0 and one other layout, not between two others.
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

  // The penalty of a task that converts: the time to copy the smallest of its values. Estimates are
  // inexact, and a conversion that would gain less than this is more likely a loss.
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
      // Ids below 0 belong to no value of the graph.
      const auto copy =
          with_layout(copying_task(type, -2, -1), -1, channels_last(type.shape.size()));
      if (copy) at->second = cost_(*copy);
    }
    return at->second;
  }

  // Whether a task's values come in more than one layout. Pinned values that have alternatives
  // count with option 0.
  bool converts(const Task& task, const std::vector<int>& chosen) const {
    std::set<int> met;
    for (const int v : variables_of(task)) met.insert(chosen[static_cast<size_t>(v)]);
    for (const std::vector<int>* values : {&task.inputs, &task.outputs}) {
      for (const int id : *values) {
        if (is_movable(id) && pinned_[static_cast<size_t>(id)]) met.insert(0);
      }
    }
    return met.size() > 1;
  }

  Plan& plan_;
  const Graph& graph_;
  const TaskCost& cost_;
  std::vector<bool> pinned_;                  // by value of the graph: seen_by_others
  std::vector<int> variables_;                // values of the graph, in order
  std::vector<std::vector<Layout>> layouts_;  // of each, by option
  // Costs by a task's key (add_term), then by the options of its variables.
  std::map<std::string, std::map<std::vector<int>, double>> known_;
  std::map<std::pair<DType, Shape>, double> copies_;  // seconds to copy to channels last, by type
};

}  // namespace

bool has_alternative_layout(const ValueType& type) {
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

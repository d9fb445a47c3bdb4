#include <algorithm>
#include <map>

#include "plan/plan.h"

// Layout conversions beside values that others see (a caller, a host kernel, a late node), whose
// layout is fixed. offer_conversions lets a convolution read and write copies of them:
//
//   x --> conv --> y      becomes      x --copy--> x' --> conv --> y' --copy--> y
//
// choose_layouts may then give x' and y' another layout. drop_conversions removes the copies that
// have kept the layout of the original. Later convolutions that read x or y share x' and y'.
//
// Invariant: a copy has the type of its original, so that either can take the other's place unless
// the copy gets another layout.

namespace aoe {
namespace {

class ConversionInserter {
 public:
  ConversionInserter(Plan& plan, Graph& graph) : plan_(plan), graph_(graph) {}

  std::vector<Conversion> run() {
    std::vector<PlanStep> steps;
    const std::vector<bool> seen = seen_by_others(plan_, graph_);
    for (PlanStep& step : plan_.steps) {
      if (step.kind != PlanStep::Kind::workload || !convolves_channels(step.task)) {
        steps.push_back(std::move(step));
        continue;
      }
      const auto is_seen = [&](int id) {
        return id >= 0 && seen[static_cast<size_t>(id)] && !graph_.value(id).is_constant() &&
               has_alternative_layout(graph_.value(id).type);
      };
      for (int& id : step.task.inputs) {
        if (!is_seen(id)) continue;
        const auto [at, fresh] = taken_.try_emplace(id, -1);
        if (fresh) {
          at->second = another(id);
          steps.push_back(copying(step, id, at->second));
        }
        id = at->second;
      }
      std::vector<PlanStep> after;
      for (int& id : step.task.outputs) {
        if (!is_seen(id)) continue;
        const int copy = another(id);
        after.push_back(copying(step, copy, id));
        taken_[id] = copy;
        id = copy;
      }
      steps.push_back(std::move(step));
      std::move(after.begin(), after.end(), std::back_inserter(steps));
    }
    plan_.steps = std::move(steps);
    return std::move(conversions_);
  }

 private:
  int another(int id) {
    GraphValue value{.name = graph_.value(id).name, .type = graph_.value(id).type};
    graph_.values.push_back(std::move(value));
    conversions_.push_back({id, static_cast<int>(graph_.values.size()) - 1});
    return conversions_.back().copy;
  }

  PlanStep copying(const PlanStep& step, int from, int to) const {
    PlanStep copy;
    copy.nodes = {step.last_node()};
    copy.task = copying_task(graph_.value(from).type.tensor(), from, to);
    return copy;
  }

  Plan& plan_;
  Graph& graph_;
  std::map<int, int> taken_;  // by value that others see: its copy
  std::vector<Conversion> conversions_;
};

}  // namespace

std::vector<Conversion> offer_conversions(Plan& plan, Graph& graph) {
  return ConversionInserter(plan, graph).run();
}

void drop_conversions(Plan& plan, const std::vector<Conversion>& conversions) {
  for (const auto& [seen, copy] : conversions) {
    if (plan.layouts.contains(copy)) continue;
    for (PlanStep& step : plan.steps) {
      std::replace(step.task.inputs.begin(), step.task.inputs.end(), copy, seen);
      std::replace(step.task.outputs.begin(), step.task.outputs.end(), copy, seen);
    }
  }
  // The copying steps of dropped conversions now copy a value to itself.
  std::erase_if(plan.steps, [](const PlanStep& step) {
    return step.kind == PlanStep::Kind::workload && !step.task.inputs.empty() &&
           step.task.inputs == step.task.outputs;
  });
}

}  // namespace aoe

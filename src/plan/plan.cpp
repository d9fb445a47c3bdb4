#include "plan/plan.h"

#include <fmt/ranges.h>

#include "plan/layout.h"

namespace aoe {

Plan plan_of(const Graph& graph, bool fuses) {
  Plan plan = lower_nodes(graph);
  if (fuses) {
    fuse(plan, graph);
    choose_layouts(plan, graph);
  }
  note_last_uses(plan, graph);
  return plan;
}

Plan lower_nodes(const Graph& graph) {
  Plan plan;
  for (size_t i = 0; i < graph.nodes.size(); ++i) {
    const Node& node = graph.nodes[i];
    PlanStep& step = plan.steps.emplace_back();
    step.nodes = {static_cast<int>(i)};
    try {
      Lowered lowered = lower(*node.def, call_of(graph, node));
      if (!lowered.complete) {
        step.kind = PlanStep::Kind::late;
      } else if (lowered.workload) {
        step.task = task_of(std::move(lowered), node);
        note_weights(step.task, graph);
      } else {
        step.kind = PlanStep::Kind::host;
        step.host = std::move(lowered.host);
      }
    } catch (const Error& error) {
      throw error.within(node.describe());
    }
  }
  return plan;
}

void note_last_uses(Plan& plan, const Graph& graph) {
  // Walking backwards, a value met for the first time is used there for the last time.
  std::vector<bool> needed(graph.values.size());
  for (const int id : graph.outputs) needed[static_cast<size_t>(id)] = true;
  for (auto step = plan.steps.rbegin(); step != plan.steps.rend(); ++step) {
    for (const int id : values_read(*step, graph)) {
      if (id < 0 || needed[static_cast<size_t>(id)]) continue;
      needed[static_cast<size_t>(id)] = true;
      step->last_uses.push_back(id);
    }
  }
}

std::vector<int> values_read(const PlanStep& step, const Graph& graph) {
  if (step.kind == PlanStep::Kind::workload) return step.task.inputs;
  const Node& node = graph.nodes[static_cast<size_t>(step.last_node())];
  std::vector<int> values = node.inputs;
  for (const Body& body : node.bodies) {
    values.insert(values.end(), body.captured.begin(), body.captured.end());
  }
  return values;
}

const std::vector<int>& values_made(const PlanStep& step, const Graph& graph) {
  if (step.kind == PlanStep::Kind::workload) return step.task.outputs;
  return graph.nodes[static_cast<size_t>(step.last_node())].outputs;
}

std::string to_string(const Plan& plan, const Graph& graph) {
  std::string text;
  for (const PlanStep& step : plan.steps) {
    std::vector<std::string> names;
    for (const int node : step.nodes) {
      const Node& done = graph.nodes[static_cast<size_t>(node)];
      names.push_back(fmt::format("{} '{}'", done.def->name, done.name));
    }
    const std::string how = step.kind == PlanStep::Kind::workload
                                ? fmt::format("{:016x}", key_of(step.task.workload))
                            : step.kind == PlanStep::Kind::host ? "on the host"
                                                                : "late";
    text += fmt::format("{}: {}\n", fmt::join(names, ", "), how);
    const auto list = [&](const char* what, const std::vector<int>& ids) {
      for (const int id : ids) {
        if (id < 0) continue;
        const GraphValue& value = graph.value(id);
        const auto layout = plan.layouts.find(id);
        text += fmt::format("  {} %{} {}{}\n", value.is_constant() ? "constant" : what, value.name,
                            to_string(value.type),
                            layout == plan.layouts.end()
                                ? ""
                                : fmt::format(" as {}", fmt::join(layout->second, "")));
      }
    };
    list("in", values_read(step, graph));
    list("out", values_made(step, graph));
  }
  return text;
}

}  // namespace aoe

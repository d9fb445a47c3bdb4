#include "plan/plan.h"

#include <fmt/ranges.h>

#include <map>

#include "base/hash.h"

// In reading order:
//   plan_of                    the passes in order; plan.h says which file has each
//   graph_text                 the name under which measured task times are looked up
//   lower_nodes                the first pass: one step for each node
//   note_last_uses             a pass: which values a step reads last
//   values_read, values_made   the values of a step, whatever its kind
//   to_string                  a plan as text
//
// Layouts are chosen after fusion, because their cost is the time of whole tasks, and before
// buffers are assigned, because they determine which copies can be in place.
//
// Invariant: after each pass, a step reads only inputs, constants and values of earlier steps.

namespace aoe {

namespace {
constexpr std::string_view kGraph = "graph ";
}

Plan plan_of(Graph& graph, const std::optional<Device>& device, const CostOfGraph& cost) {
  Plan plan = lower_nodes(graph);
  if (device) {
    fuse(plan, graph);
    note_numerics(plan, graph);
    const std::vector<Conversion> conversions = offer_conversions(plan, graph);
    const TaskCost known = cost ? cost(graph_text(plan)) : TaskCost();
    choose_layouts(plan, graph, known ? known : estimated_cost(*device));
    drop_conversions(plan, conversions);
    note_numerics(plan, graph);
  }
  note_last_uses(plan, graph);
  if (device) assign_buffers(plan, graph);
  else plan.assignments.assign(graph.values.size(), {BufferAssignment::Storage::separate});
  return plan;
}

std::string graph_text(const Plan& plan) {
  uint64_t hash = kHashStart;
  for (const PlanStep& step : plan.steps) {
    if (runs_task(step)) hash = stable_hash(to_string(step.task.workload), hash);
  }
  return fmt::format("{}{:016x}", kGraph, hash);
}

bool names_graph(std::string_view text) { return text.starts_with(kGraph); }

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

void note_numerics(Plan& plan, const Graph& graph) {
  std::map<std::string, Numerics> by_text;
  for (int pass = 0; pass < 2; ++pass) {
    for (PlanStep& step : plan.steps) {
      if (!runs_task(step)) continue;
      Numerics allowed = Numerics::strassen;
      for (const int node : step.nodes) {
        allowed = std::min(allowed, graph.nodes[static_cast<size_t>(node)].numerics);
      }
      Numerics& least = by_text.try_emplace(to_string(step.task.workload), allowed).first->second;
      least = std::min(least, allowed);
      step.task.workload.numerics = least;
    }
  }
}

void note_last_uses(Plan& plan, const Graph& graph) {
  // In reverse order, the first step that reads a value is its last use.
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
  if (runs_task(step)) return step.task.inputs;
  const Node& node = graph.nodes[static_cast<size_t>(step.last_node())];
  std::vector<int> values = node.inputs;
  for (const Body& body : node.bodies) {
    values.insert(values.end(), body.captured.begin(), body.captured.end());
  }
  return values;
}

const std::vector<int>& values_made(const PlanStep& step, const Graph& graph) {
  if (runs_task(step)) return step.task.outputs;
  return graph.nodes[static_cast<size_t>(step.last_node())].outputs;
}

namespace {

std::string how_text(const PlanStep& step) {
  switch (step.kind) {
    case PlanStep::Kind::workload: return fmt::format("{:016x}", key_of(step.task.workload));
    case PlanStep::Kind::in_place: return "in place";
    case PlanStep::Kind::host: return "on the host";
    case PlanStep::Kind::late: return "late";
  }
  return "";
}

std::string assignment_text(const BufferAssignment& assignment) {
  const std::string offset = assignment.offset == 0 ? "" : fmt::format(" + {}", assignment.offset);
  switch (assignment.storage) {
    case BufferAssignment::Storage::nothing: return "nowhere";
    case BufferAssignment::Storage::constant: return "constant";
    case BufferAssignment::Storage::input:
      return fmt::format("input {}{}", assignment.index, offset);
    case BufferAssignment::Storage::output:
      return fmt::format("output {}{}", assignment.index, offset);
    case BufferAssignment::Storage::arena:
      return fmt::format("buffer {}{}", assignment.index, offset);
    case BufferAssignment::Storage::separate: return "apart";
  }
  return "";
}

}  // namespace

std::string to_string(const Plan& plan, const Graph& graph) {
  std::string text;
  for (const PlanStep& step : plan.steps) {
    std::vector<std::string> names;
    for (const int node : step.nodes) {
      const Node& done = graph.nodes[static_cast<size_t>(node)];
      names.push_back(fmt::format("{} '{}'", done.def->name, done.name));
    }
    text += fmt::format("{}: {}\n", fmt::join(names, ", "), how_text(step));
    const auto list = [&](const char* what, const std::vector<int>& ids) {
      for (const int id : ids) {
        if (id < 0) continue;
        const GraphValue& value = graph.value(id);
        const auto layout = plan.layouts.find(id);
        const std::string lies =
            layout == plan.layouts.end() ? "" : fmt::format(" as {}", to_string(layout->second));
        text += fmt::format("  {} %{} {}{} {}\n", what, value.name, to_string(value.type), lies,
                            assignment_text(plan.assignments[static_cast<size_t>(id)]));
      }
    };
    list("in", values_read(step, graph));
    list("out", values_made(step, graph));
    for (const PlanStep::Copy& copy : step.copies) {
      text += fmt::format("  copy %{} to %{} + {}, {} bytes\n", graph.value(copy.from).name,
                          graph.value(copy.to).name, copy.to_offset, copy.bytes);
    }
  }
  for (const int output : plan.copied_outputs) {
    const int id = graph.outputs[static_cast<size_t>(output)];
    text += fmt::format("copy %{} to output {}\n", graph.value(id).name, output);
  }
  for (size_t i = 0; i < plan.buffers.size(); ++i) {
    const Lifetime& buffer = plan.buffers[i];
    text += fmt::format("buffer {}: {} bytes, steps {} to {}\n", i, buffer.bytes, buffer.first,
                        buffer.last);
  }
  return text;
}

}  // namespace aoe

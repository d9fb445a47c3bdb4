#pragma once

#include <map>
#include <string>
#include <vector>

#include "plan/task.h"

namespace aoe {

// What one step of a run does: nodes that run as one workload, a node's host kernel, or a node
// that only a run can lower.
struct PlanStep {
  enum class Kind : uint8_t { workload, host, late };

  Kind kind = Kind::workload;
  std::vector<int> nodes;      // of the graph, in its order; the last one's outputs are made
  Task task;                   // of a workload
  HostKernel host;             // of a host kernel
  std::vector<int> last_uses;  // values that nobody needs after this step

  int last_node() const { return nodes.back(); }
};

// The dimensions of a value as they lie in memory, the outermost first.
using Layout = std::vector<size_t>;

// How a graph runs: its steps, in order. It belongs to the graph it was made for.
struct Plan {
  std::vector<PlanStep> steps;
  std::map<int, Layout> layouts;  // of values that do not lie as their dimensions are counted
};

// The passes, one after the other; `fuses`: what can run as one workload does.
Plan plan_of(const Graph& graph, bool fuses);

// A step for every node.
Plan lower_nodes(const Graph& graph);
// Elementwise steps join those around them, so that what only they use is never written to memory.
void fuse(Plan& plan, const Graph& graph);
void note_last_uses(Plan& plan, const Graph& graph);

// The graph's values that a step reads, -1 where an optional input is left out.
std::vector<int> values_read(const PlanStep& step, const Graph& graph);
// And those that it makes, -1 where nobody wants one.
const std::vector<int>& values_made(const PlanStep& step, const Graph& graph);

// A few lines a step, for people and tests.
std::string to_string(const Plan& plan, const Graph& graph);

}  // namespace aoe

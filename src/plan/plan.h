#pragma once

#include <map>
#include <string>
#include <vector>

#include "device/device.h"
#include "plan/arena.h"
#include "plan/layout.h"
#include "plan/task_cost.h"

namespace aoe {

// What one step of a run does: nodes that run as one workload, a node's host kernel, or a node
// that only a run can lower. The results of one that only moves what lies in one piece can be in
// place already.
struct PlanStep {
  enum class Kind : uint8_t { workload, in_place, host, late };

  Kind kind = Kind::workload;
  std::vector<int> nodes;       // of the graph, in its order; the last one's outputs are made
  Task task;                    // of a workload, also of one whose results are in place
  HostKernel host;              // of a host kernel
  std::vector<int> last_uses;   // values that nobody needs after this step
  bool changes_layout = false;  // its output layout differs from its input layout

  // What is not in place after all, values of the graph and bytes of them. A separate Value
  // is not copied but shared.
  struct Copy {
    int from = -1;
    int64_t from_offset = 0;
    int to = -1;
    int64_t to_offset = 0;
    int64_t bytes = 0;
  };
  std::vector<Copy> copies;

  int last_node() const { return nodes.back(); }
};

// Where the elements of a value are while a plan runs.
struct BufferAssignment {
  enum class In : uint8_t {
    nothing,   // nobody makes it: it is inside a step
    constant,  // with the graph
    input,     // the caller's memory
    output,    // the caller's memory
    arena,
    apart,  // a separate Value, as host kernels take and give them
  };

  In in = In::nothing;
  int index = -1;      // which input or output, or which buffer of the arena
  int64_t offset = 0;  // in bytes, from its beginning

  bool operator==(const BufferAssignment&) const = default;
};

// How a graph runs: its steps, in order, and where its values are meanwhile. It belongs to the
// graph it was made for.
struct Plan {
  std::vector<PlanStep> steps;
  std::map<int, Layout> layouts;  // of values that do not lie as their dimensions are counted
  std::vector<BufferAssignment> assignments;  // of each value of the graph
  std::vector<Lifetime> buffers;              // of the arena, by steps
  std::vector<int> copied_outputs;  // which outputs lie elsewhere, and are copied at the end
};

// What layouts are chosen by, for the graph that graph_text names; empty: the estimate.
using CostOfGraph = std::function<TaskCost(const std::string& graph)>;

// The passes, one after the other. On a device workloads run as kernels, which are fused and work
// on plain memory; without one, each on separate values. Adds values to the graph where what
// callers see is converted for the steps inside.
Plan plan_of(Graph& graph, const std::optional<Device>& device, const CostOfGraph& cost = {});

// What a graph computes, whatever its values are called and however they are to lie: "graph " and
// a hash of the texts of its tasks. No workload's text begins so.
std::string graph_text(const Plan& plan);
bool names_graph(std::string_view text);

// A task whose cost the choice of layouts depends on: its workload in every way in which its values
// may lie, each once.
struct AskedTask {
  std::vector<Workload> ways;
  double estimated_s = 0;  // of the first
};
// Those of a graph, the most expensive by the estimate first.
std::vector<AskedTask> asked_tasks(Graph graph, const Device& device);

// A step for every node.
Plan lower_nodes(const Graph& graph);
// Elementwise steps join those around them, so that what only they use is never written to memory.
void fuse(Plan& plan, const Graph& graph);
// Decides how the values between steps lie in memory, and rewrites their tasks, so that all tasks
// together take the least time. What callers, host kernels and late nodes see stays as it is.
void choose_layouts(Plan& plan, const Graph& graph, const TaskCost& cost);

// A value that a caller, a host kernel or a late node sees, and one that lies inside as suits the
// steps there: a step copies one to the other.
struct Conversion {
  int seen;
  int copy;
};
// Convolutions take and make separate values instead of those that others see, so that there is
// a choice.
std::vector<Conversion> offer_conversions(Plan& plan, Graph& graph);
// Those of which the choice has made no use.
void drop_conversions(Plan& plan, const std::vector<Conversion>& conversions);

// Whether a value has more than one possible layout: a plane of one point lies the same way
// wherever its channels are, and so does nothing at all.
bool has_alternative_layout(const ValueType& type);
// Whether the task has a convolution that sums over channels and has more than one filter (not a
// depthwise one): only there can another layout pay for its copies.
bool convolves_channels(const Task& task);
// By value: whether it stays as it is, because a caller, a host kernel or a late node takes or
// gives it, or because it is constant.
std::vector<bool> seen_by_others(const Plan& plan, const Graph& graph);

void note_last_uses(Plan& plan, const Graph& graph);
// Finds a place for every value: in the caller's memory, as a part of another value that is there
// anyway, or in the arena.
void assign_buffers(Plan& plan, const Graph& graph);

inline bool runs_task(const PlanStep& step) {
  return step.kind == PlanStep::Kind::workload || step.kind == PlanStep::Kind::in_place;
}
// The graph's values that a step reads, -1 where an optional input is left out.
std::vector<int> values_read(const PlanStep& step, const Graph& graph);
// And those that it makes, -1 where nobody wants one.
const std::vector<int>& values_made(const PlanStep& step, const Graph& graph);

// A few lines a step, for people and tests.
std::string to_string(const Plan& plan, const Graph& graph);

}  // namespace aoe

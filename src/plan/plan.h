#pragma once

#include <map>
#include <string>
#include <vector>

#include "device/device.h"
#include "plan/arena.h"
#include "plan/layout.h"
#include "plan/task_cost.h"

namespace aoe {

// A step of a run: nodes that run as one workload, the host kernel of a node, or a late node. A
// workload that only copies contiguous runs (plan/copied_runs.h) may become `in_place`: its outputs
// share memory with its inputs, and only `copies` remain to be done.
struct PlanStep {
  enum class Kind : uint8_t { workload, in_place, host, late };

  Kind kind = Kind::workload;
  std::vector<int> nodes;       // indexes into the graph, ascending; the last one has the outputs
  Task task;                    // if `workload` or `in_place`
  HostKernel host;              // if `host`
  std::vector<int> last_uses;   // values that no later step reads and that are no outputs
  bool changes_layout = false;  // its output layout differs from its input layout

  // Bytes of graph values that an `in_place` step still has to copy. If `to` is a separate Value,
  // it shares the memory of `from` instead.
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
  enum class Storage : uint8_t {
    nothing,   // no memory: internal to a fused step, or never read
    constant,  // with the graph
    input,     // the caller's memory
    output,    // the caller's memory
    arena,
    separate,  // a separate Value, as host kernels read and return them
  };

  Storage storage = Storage::nothing;
  int index = -1;      // of the input, the output, or the arena buffer in Plan::buffers
  int64_t offset = 0;  // in bytes from its start

  bool operator==(const BufferAssignment&) const = default;
};

// How a graph runs: its steps in order, the layouts of its values and their buffer assignments.
// Valid only with the graph it was made for, to which its indexes refer.
struct Plan {
  std::vector<PlanStep> steps;
  std::map<int, Layout> layouts;  // of values not in the order of the graph's dimensions
  std::vector<BufferAssignment> assignments;  // of each value of the graph
  std::vector<Lifetime> buffers;              // of the arena; lifetimes are counted in steps
  std::vector<int> copied_outputs;            // outputs computed elsewhere and copied at the end
};

// Returns the cost by which layouts are chosen, for the graph that graph_text names. An empty
// TaskCost selects the estimate.
using CostOfGraph = std::function<TaskCost(const std::string& graph)>;

// Runs all passes. With a device, workloads run as kernels: they are fused and work on plain
// memory. Without one, every node is a step on separate Values. Adds values to the graph: converted
// copies of values that callers see. (plan.cpp)
Plan plan_of(Graph& graph, const std::optional<Device>& device, const CostOfGraph& cost = {});

// Returns the name of a graph by what it computes: "graph " and a hash of the texts of its tasks,
// before layouts are chosen. It does not depend on names of values. No workload's text begins so.
// (plan.cpp)
std::string graph_text(const Plan& plan);
bool names_graph(std::string_view text);

// A task whose cost the choice of layouts depends on: its workload in every combination of layouts
// that was considered, each once.
struct LayoutTask {
  std::vector<Workload> variants;
  double estimated_s = 0;  // of variants[0]
};
// Returns these tasks of a graph, sorted by estimated time, longest first. (layout_tasks.cpp)
std::vector<LayoutTask> layout_tasks(Graph graph, const Device& device);

// Makes one step for every node. (plan.cpp)
Plan lower_nodes(const Graph& graph);
// Merges elementwise steps with their producers, so that the values in between never reach memory.
// (fuse.cpp)
void fuse(Plan& plan, const Graph& graph);
// Chooses the layouts of the values between steps that minimize the total cost of all tasks, and
// rewrites the tasks. Values that callers, host kernels and late nodes see keep their layout.
// (choose_layouts.cpp)
void choose_layouts(Plan& plan, const Graph& graph, const TaskCost& cost);

// A value that a caller, a host kernel or a late node sees, and its copy for the steps inside,
// whose layout can be chosen. A step copies one to the other.
struct Conversion {
  int seen;
  int copy;
};
// Lets convolutions read and write copies of the values that others see, so that choose_layouts has
// a choice. (conversions.cpp)
std::vector<Conversion> offer_conversions(Plan& plan, Graph& graph);
// Removes the conversions whose copy has kept the layout of the original. (conversions.cpp)
void drop_conversions(Plan& plan, const std::vector<Conversion>& conversions);

// Whether a value has more than one possible layout: not below rank 3, not if it is empty, and not
// if its planes are single points, which makes all layouts equal. (choose_layouts.cpp)
bool has_alternative_layout(const ValueType& type);
// Whether the task has a convolution that sums over channels and has more than one filter (not a
// depthwise one): only there can another layout pay for its copies. (choose_layouts.cpp)
bool convolves_channels(const Task& task);
// By value: whether it keeps its layout, because a caller, a host kernel or a late node reads or
// writes it, or because it is constant. (choose_layouts.cpp)
std::vector<bool> seen_by_others(const Plan& plan, const Graph& graph);

// Sets the algorithms that may compute each task: those that all of its nodes allow. Tasks with the
// same text, which share one policy, get what all of them allow. (plan.cpp)
void note_numerics(Plan& plan, const Graph& graph);

// Sets PlanStep::last_uses. (plan.cpp)
void note_last_uses(Plan& plan, const Graph& graph);
// Assigns a buffer to every value: the caller's memory, a part of another value, the arena, or a
// separate Value. Steps that have nothing left to compute then become `in_place`.
// (assign_buffers.cpp)
void assign_buffers(Plan& plan, const Graph& graph);

inline bool runs_task(const PlanStep& step) {
  return step.kind == PlanStep::Kind::workload || step.kind == PlanStep::Kind::in_place;
}
// The graph values that a step reads; -1 for an optional input that is left out. (plan.cpp)
std::vector<int> values_read(const PlanStep& step, const Graph& graph);
// The graph values that a step writes; -1 for an output that is not used. (plan.cpp)
const std::vector<int>& values_made(const PlanStep& step, const Graph& graph);

// A few lines per step, to read and for tests. (plan.cpp)
std::string to_string(const Plan& plan, const Graph& graph);

}  // namespace aoe

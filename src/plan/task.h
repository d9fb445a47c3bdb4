#pragma once

#include <optional>
#include <vector>

#include "graph/graph.h"

namespace aoe {

// One or more nodes of a graph that run as one workload.
struct Task {
  Workload workload;
  std::vector<int> inputs;   // the graph's values that the workload takes
  std::vector<int> outputs;  // and those that it makes
};

// The task of a node whose call has come to a workload.
Task task_of(Lowered lowered, const Node& node);
// Says of the workload's inputs that are constants of the graph that they are weights.
void note_weights(Task& task, const Graph& graph);

// Copies one value of the graph to another.
Task copying_task(const TensorType& type, int from, int to);

// Whether every element of a task's results depends on single elements of its inputs only, so that
// it can be written into another such task at no cost.
bool is_elementwise(const Task& task);

// `second` with what makes one of its inputs written into it. Nothing else may use that value.
Task composed(const Task& first, const Task& second);

// So that the workload's text, which numbers values without gaps, has no others.
void drop_unused_values(Workload& workload);
// What leads to no output.
void drop_unused_stages(Workload& workload);

}  // namespace aoe

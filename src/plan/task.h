#pragma once

#include <optional>
#include <vector>

#include "graph/graph.h"

namespace aoe {

// One or more nodes of a graph that run as one workload.
struct Task {
  Workload workload;
  std::vector<int> inputs;   // graph values, one for each input of the workload
  std::vector<int> outputs;  // graph values, one for each output of the workload
};

// Returns the task of a node that was lowered to a workload, without the outputs that the node
// leaves out.
Task task_of(Lowered lowered, const Node& node);
// Marks the workload's inputs that are constants of the graph as weights.
void note_weights(Task& task, const Graph& graph);

// Returns a task that copies graph value `from` to `to`, both of this type.
Task copying_task(const TensorType& type, int from, int to);

// Whether a task has one output and no reduction, so that it can be fused with another such task at
// no cost.
bool is_elementwise(const Task& task);

// Returns one task that runs `first` and then `second`, which reads the output of `first`. Nothing
// else may read that value: it becomes internal to the task.
Task composed(const Task& first, const Task& second);

// Removes unused values and renumbers the others: the workload's text numbers them without gaps.
void drop_unused_values(Workload& workload);
// Removes stages that contribute to no output, and the values of these stages.
void drop_unused_stages(Workload& workload);

}  // namespace aoe

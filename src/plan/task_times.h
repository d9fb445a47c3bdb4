#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "plan/task_cost.h"

namespace aoe {

// Measured times of the tasks of a graph in their possible layouts. Layouts are solved from them
// instead of from the estimate. The chosen layouts are not stored, so that they can be solved again
// when more times are known.
struct TaskTimes {
  std::map<uint64_t, double> ns;  // by the key of the workload
  // Factors on the estimates of tasks that were not measured: of those with contractions, and of
  // all others.
  double cube_ratio = 1;
  double vector_ratio = 1;

  bool operator==(const TaskTimes&) const = default;
};

// A line "cube 1.5", a line "vector 2", and a line for each workload, its key and the nanoseconds:
// "0123456789abcdef 12345.5". `parse_task_times` is the inverse; it throws an Error for other text.
std::string to_string(const TaskTimes& times);
TaskTimes parse_task_times(const std::string& text);

// Returns the times with, as factor of each kind, the median ratio of measured to estimated time:
// of its own kind if any was measured, else of all.
TaskTimes task_times(const std::vector<std::pair<Workload, double>>& measured_ns,
                     const Device& device);

// The cost by measured times; for workloads without one, by the estimate times its factor.
TaskCost measured_cost(const Device& device, TaskTimes times);

}  // namespace aoe

#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "plan/task_cost.h"

namespace aoe {

// What the tasks of a graph were measured to take, their values lying one way or another: layouts
// are solved from it instead of the estimate. It says nothing of the layouts themselves, so that
// who solves again with more of it need not know what was chosen before.
struct TaskTimes {
  std::map<uint64_t, double> ns;  // by the key of the workload
  // How many times as long as estimated those tasks take that were not measured: those with
  // contractions, and all others.
  double cube_ratio = 1;
  double vector_ratio = 1;

  bool operator==(const TaskTimes&) const = default;
};

// A line "cube 1.5", a line "vector 2", and a line for each workload, its key and the nanoseconds:
// "0123456789abcdef 12345.5". It parses back to the same; anything else is an Error.
std::string to_string(const TaskTimes& times);
TaskTimes parse_task_times(const std::string& text);

// With the ratios in the middle of those seen, of each kind.
TaskTimes task_times(const std::vector<std::pair<Workload, double>>& measured_ns,
                     const Device& device);

TaskCost measured_cost(const Device& device, TaskTimes times);

}  // namespace aoe

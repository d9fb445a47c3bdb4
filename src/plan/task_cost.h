#pragma once

#include <functional>

#include "device/device.h"
#include "plan/task.h"

namespace aoe {

// How many seconds a task takes, its values lying as its workload says. Layouts are chosen by it;
// where it comes from, an estimate or a measurement, does not matter to callers.
using TaskCost = std::function<double(const Task&)>;

// By the seconds of its workload, except for what is not done at all because it only moves what is
// in place already.
TaskCost cost_by(std::function<double(const Workload&)> seconds);

// By what an analytic model of the device expects of the workload's default policy.
TaskCost estimated_cost(const Device& device);

}  // namespace aoe

#pragma once

#include <functional>

#include "device/device.h"
#include "plan/task.h"

namespace aoe {

// Returns the time of a task in seconds, in the layouts that its workload has. Layouts are chosen
// by it, whether it is an estimate or a measurement.
using TaskCost = std::function<double(const Task&)>;

// The cost of a task is the time of its workload, except for copies that will be in place
// (plan/assign_buffers.cpp): they cost nothing, or a part of that time.
TaskCost cost_by(std::function<double(const Workload&)> seconds);

// The time that an analytic model of the device predicts for the workload's default policy.
TaskCost estimated_cost(const Device& device);

}  // namespace aoe

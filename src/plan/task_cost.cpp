#include "plan/task_cost.h"

#include "plan/copied_runs.h"
#include "policy/estimate.h"

namespace aoe {
namespace {

// The part of its time that a concatenation is charged. Most of its inputs are computed in place
// (assign_buffers.cpp), but one that is already part of another buffer has to be copied.
constexpr double kCopiedShare = 0.25;

// The part of the workload's time that remains when copies of contiguous runs are in place.
double share_done(const Workload& workload) {
  double share = 0;
  for (size_t i = 0; i < workload.outputs.size(); ++i) {
    const auto runs = copied_runs(workload, i);
    if (!runs) return 1;
    if (runs->size() > 1) share = kCopiedShare;
  }
  return share;
}

}  // namespace

TaskCost cost_by(std::function<double(const Workload&)> seconds) {
  return [seconds = std::move(seconds)](const Task& task) {
    const double share = share_done(task.workload);
    return share == 0 ? 0 : share * seconds(task.workload);
  };
}

TaskCost estimated_cost(const Device& device) {
  return cost_by(
      [device](const Workload& workload) { return estimated_seconds(workload, device); });
}

}  // namespace aoe

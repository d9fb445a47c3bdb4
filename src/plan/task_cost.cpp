#include "plan/task_cost.h"

#include "plan/copied_runs.h"
#include "policy/estimate.h"

namespace aoe {
namespace {

// What only moves pieces of memory usually finds them in place (assign_buffers.cpp); some of what
// is joined has another place already, and is copied.
constexpr double kCopiedShare = 0.25;

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

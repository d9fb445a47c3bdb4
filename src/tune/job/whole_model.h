#pragma once

#include <functional>
#include <vector>

#include "tune/job/job_state.h"

namespace aoe {

// Compares the model with the accepted policies, which are sorted by gain, with the model as it was
// opened, and drops those that do not carry over (measure/statistics/carry_over.h). Sets
// `accepted`, `dropped`, `before_ns`, `gain` and `unproven_gain` of the result. `on_progress` is
// called with the completed share of each comparison.
void compare_whole_model(JobContext& job, std::vector<Accepted> accepted, JobResult& result,
                         const std::function<void(double share)>& on_progress);

}  // namespace aoe

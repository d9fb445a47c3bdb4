#pragma once

#include <functional>
#include <vector>

#include "tune/job/job_state.h"

namespace aoe {

// Compares the model with the accepted policies, which are sorted by gain, with the model as it was
// opened, and drops those that do not carry over (measure/statistics/take_back.h). Sets `accepted`,
// `taken_back`, `before_ns`, `gain` and `unproven_gain` of the result. `told` is called with the
// completed share of each comparison.
void compare_whole_model(JobContext& job, std::vector<Accepted> accepted, JobResult& result,
                         const std::function<void(double share)>& told);

}  // namespace aoe

#pragma once

#include <functional>
#include <vector>

#include "tune/job/job_state.h"

namespace aoe {

// What of the accepted policies, large gains first, carries over to the whole model: they are
// compared together with the model as it was opened, and what does not make it faster is taken back
// (measure/statistics/take_back.h). Fills in what the result says of the model. `told` hears what
// share of a comparison is done.
void compare_whole_model(JobContext& job, std::vector<Accepted> accepted, JobResult& result,
                         const std::function<void(double share)>& told);

}  // namespace aoe

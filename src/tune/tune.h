#pragma once

#include <functional>

#include "tune/options.h"
#include "tune/outcome.h"

namespace aoe {

// Is told what a job has come to, at its beginning and after each operator; what it does with that
// (a result file, a screen) is no matter of the job.
using OutcomeListener = std::function<void(const TuningOutcome&)>;

// Tunes the operators of a model. `options` are resolved, and nothing stands in the way of the job.
// Returns an exit code: 0 done, 1 tuning failed. What the user has to mend is an Error.
int tune(const TuneOptions& options, const OutcomeListener& changed);

}  // namespace aoe

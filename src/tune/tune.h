#pragma once

#include <filesystem>
#include <functional>

#include "backend/backend.h"
#include "tune/job/job_state.h"
#include "tune/outcome.h"
#include "tune/setup/options.h"

namespace aoe {

// Is told what a job comes to; what it does with that (a result file, a screen) is no matter of the
// job.
struct TuneListener {
  // The job has a folder from which it can be resumed.
  std::function<void(const std::filesystem::path& folder)> begun = [](const auto&) {};
  // At the beginning and after each operator.
  std::function<void(const TuningOutcome&)> changed = [](const auto&) {};
  // `name` is the operator's that the news is of; empty: of none.
  std::function<void(const JobProgress&, const std::string& name)> progress = [](const auto&,
                                                                                 const auto&) {};
  // The tuned model was written.
  std::function<void(const std::filesystem::path& model)> written = [](const auto&) {};
  // Whether the user wants it to end; an Interrupted is thrown then.
  std::function<bool()> stopped = [] { return false; };
};

// Tunes the operators of a model for a device, which must be the one that it runs on. `options` are
// resolved, and the job's preconditions hold. What the user has to mend is an Error.
TuningOutcome tune(const TuneOptions& options, const std::shared_ptr<const Backend>& backend,
                   const TuneListener& listener);

}  // namespace aoe

#pragma once

#include <filesystem>
#include <functional>

#include "backend/backend.h"
#include "tune/job/job_state.h"
#include "tune/outcome.h"
#include "tune/setup/options.h"

namespace aoe {

// Callbacks of a job, for result file and screen.
struct TuneListener {
  // The job has a folder from which it can be resumed.
  std::function<void(const std::filesystem::path& folder)> on_started = [](const auto&) {};
  // The outcome changed: at the start, when policies are proven, and at the end.
  std::function<void(const TuningOutcome&)> on_changed = [](const auto&) {};
  // `name` is that of the operator with the largest screened speed-up; empty if there is none.
  std::function<void(const JobProgress&, const std::string& name)> on_progress = [](const auto&,
                                                                                    const auto&) {};
  // The tuned model was written.
  std::function<void(const std::filesystem::path& model)> on_written = [](const auto&) {};
  // Whether the user wants to stop the job, which then throws Interrupted.
  std::function<bool()> is_stopped = [] { return false; };
};

// Tunes a model for the device of the backend, which must be the host. `options` must be resolved
// and the preconditions hold. Throws Error for problems that the user can fix.
TuningOutcome tune(const TuneOptions& options, const std::shared_ptr<const Backend>& backend,
                   const TuneListener& listener);

}  // namespace aoe

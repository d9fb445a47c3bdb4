#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "cli/progress.h"
#include "tune/tune.h"

namespace aoe {

// What a tuning job shows: where it is while it runs, and at the end what other tools look for.
class TuneScreen {
 public:
  explicit TuneScreen(const TuneOptions& options);

  void begun(const std::filesystem::path& folder);
  void progress(const JobProgress& progress, const std::string& name);
  void written(const std::filesystem::path& model);
  void finished(const TuningOutcome& outcome, const std::filesystem::path& result);
  void interrupted();

 private:
  const TuneOptions& options_;
  std::optional<Progress> progress_;
  std::filesystem::path folder_, model_;
};

// Notes, as long as it lives, that the user wants the job to end (SIGINT, SIGTERM), instead of
// ending the process. A second signal ends it.
class EndOnSignal {
 public:
  EndOnSignal();
  ~EndOnSignal();
  EndOnSignal(const EndOnSignal&) = delete;
  EndOnSignal& operator=(const EndOnSignal&) = delete;

  static bool wanted();
};

}  // namespace aoe

#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "cli/progress.h"
#include "tune/tune.h"

namespace aoe {

// The terminal output of a tuning job: its progress while it runs, and closing lines that other
// tools parse.
class TuneScreen {
 public:
  explicit TuneScreen(const TuneOptions& options);

  void on_started(const std::filesystem::path& folder);
  void on_progress(const JobProgress& progress, const std::string& name);
  void on_written(const std::filesystem::path& model);
  void on_finished(const TuningOutcome& outcome, const std::filesystem::path& result);
  void on_interrupted();

 private:
  const TuneOptions& options_;
  std::optional<Progress> progress_;
  std::filesystem::path folder_, model_;
};

// While it exists, the first SIGINT or SIGTERM only records that the user wants the job to end; a
// second one of the same kind ends the process.
class EndOnSignal {
 public:
  EndOnSignal();
  ~EndOnSignal();
  EndOnSignal(const EndOnSignal&) = delete;
  EndOnSignal& operator=(const EndOnSignal&) = delete;

  static bool wanted();
};

}  // namespace aoe

#pragma once

#include <filesystem>
#include <string>

#include "base/time_text.h"
#include "tune/outcome.h"

namespace aoe {

// Increase of speed, (before - after) / after, in percent: "118.71%".
std::string improvement_text(double before, double after);

// The result of a tuning job as JSON; docs/result-file.md describes the fields.
std::string result_text(const TuningOutcome& outcome);

// A ResultFile is the file to which a job writes its result, complete or so far. The file is
// complete at every moment, even if this process or the machine crashes.
class ResultFile {
 public:
  // aoe_result_opat_${timestamp}_pid${pid}.json in the folder, which must exist; with `auto_tune`,
  // tune_result_${timestamp}_pid${pid}.json.
  ResultFile(const std::filesystem::path& folder, SystemTime started, bool auto_tune = false);

  void write(const TuningOutcome& outcome) const;
  const std::filesystem::path& file() const { return file_; }

 private:
  std::filesystem::path file_;
};

}  // namespace aoe

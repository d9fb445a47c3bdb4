#pragma once

#include <filesystem>
#include <string>

#include "base/time_text.h"
#include "tune/outcome.h"

namespace aoe {

// "118.71%": by how much the time before exceeds the time after.
std::string improvement_text(double before, double after);

// The result file of a model's operator tuning: JSON, docs/result-file.md has the fields.
std::string result_text(const TuningOutcome& outcome);

// Where a job tells how far it is. After each write the file is whole, whatever ends this process
// or the machine.
class ResultFile {
 public:
  // aoe_result_opat_${timestamp}_pid${pid}.json in the folder, which must be there; AutoTune's is
  // called tune_result_…
  ResultFile(const std::filesystem::path& folder, SystemTime started, bool auto_tune = false);

  void write(const TuningOutcome& outcome) const;
  const std::filesystem::path& file() const { return file_; }

 private:
  std::filesystem::path file_;
};

}  // namespace aoe

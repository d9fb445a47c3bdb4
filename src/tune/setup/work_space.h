#pragma once

#include <filesystem>
#include <string>

#include "base/time_text.h"
#include "tune/setup/options.h"

namespace aoe {

// The folder of a job, ${WORK_PATH}/aoe_workspace/${model_name}_${timestamp}, and its files.
struct WorkSpace {
  std::filesystem::path folder;

  std::filesystem::path journal() const { return folder / "journal.db"; }
  // Path of the tuned model, unless --output names another. Creates its folder.
  std::filesystem::path model() const;
  // Path of a file that exists once the job is finished.
  std::filesystem::path finished() const { return folder / "finished"; }
};

// Creates the work space of a new job.
WorkSpace new_work_space(const TuneOptions& options, SystemTime now);
// The work space of the job to resume: the one that --reload names, or the last one of this model
// that has a journal and is not finished.
WorkSpace work_space_to_reload(const TuneOptions& options);

}  // namespace aoe

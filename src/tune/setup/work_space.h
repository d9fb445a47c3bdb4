#pragma once

#include <filesystem>
#include <string>

#include "base/time_text.h"
#include "tune/setup/options.h"

namespace aoe {

// The folder of a job, ${WORK_PATH}/aoe_workspace/${model_name}_${timestamp}, and what is in it.
struct WorkSpace {
  std::filesystem::path folder;

  std::filesystem::path journal() const { return folder / "journal.db"; }
  // Of the tuned model, where the user has not named another place.
  std::filesystem::path model() const;
  // Is there once the job has come to its end.
  std::filesystem::path finished() const { return folder / "finished"; }
};

// Of a new job: made.
WorkSpace new_work_space(const TuneOptions& options, SystemTime now);
// Of the job to go on with: the one the user names, or the last of this model that has
// a journal and is not finished.
WorkSpace work_space_to_reload(const TuneOptions& options);

}  // namespace aoe

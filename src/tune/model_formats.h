#pragma once

#include <functional>

#include "bank/entry.h"
#include "base/time_text.h"
#include "tune/formats.h"
#include "tune/journal.h"
#include "tune/options.h"
#include "tune/outcome.h"

namespace aoe {

// What layouts are tuned for beside the model: what the job has of its own.
struct FormatsOfJob {
  std::string id;
  SystemTime began;
  std::string effort;
  bool repeat_tune = false;
  double budget_s = 0;
  Target target;
};

// What tuning the layouts of a model has come to.
struct ModelFormats {
  std::string line;                        // for people
  std::optional<OperatorOutcome> outcome;  // if the bank has other times now
  std::set<std::string> changed;           // texts of workloads that lie otherwise since
  double elapsed_s = 0;
};

// Tunes the layouts of a model, unless the bank has them: what is proven is in the bank when it
// returns, so that whatever loads the model from then on has it.
ModelFormats tune_model_formats(Journal& journal, const TuneOptions& options,
                                const FormatsOfJob& job,
                                const std::function<void(double, double)>& progress,
                                const std::function<bool()>& stopped);

// Of a model that became faster twice, one time after the other.
Gain in_a_row(const Gain& first, const Gain& second);

}  // namespace aoe

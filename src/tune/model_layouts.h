#pragma once

#include <functional>

#include "device/device.h"
#include "tune/journal/journal.h"
#include "tune/outcome.h"
#include "tune/setup/options.h"
#include "tune/store.h"

namespace aoe {

// What tuning the layouts of a model has come to.
struct ModelLayouts {
  std::string line;                        // for people
  std::optional<OperatorOutcome> outcome;  // if the bank has other times now
  std::set<std::string> changed;           // texts of workloads whose layouts changed
  double elapsed_s = 0;
};

// Tunes the layouts of a model, unless the bank has them: what is proven is in the bank when it
// returns, so that whatever loads the model from then on has it. `display` is for a progress bar:
// the share of a job with that budget that is done, and how long it took.
ModelLayouts tune_model_layouts(Journal& journal, const TuneOptions& options, const Device& device,
                                const JobIdentity& job, double budget_s,
                                const std::function<void(double, double)>& display,
                                const std::function<bool()>& stopped);

// Of a model that became faster twice, one time after the other.
Gain in_a_row(const Gain& first, const Gain& second);

}  // namespace aoe

#pragma once

#include <functional>

#include "device/device.h"
#include "tune/journal/journal.h"
#include "tune/outcome.h"
#include "tune/setup/options.h"
#include "tune/store.h"

namespace aoe {

// The result of tuning the layouts of a model.
struct ModelLayouts {
  std::string line;                        // summary for the user
  std::optional<OperatorOutcome> outcome;  // if new task times were stored in the bank
  std::set<std::string> changed;           // texts of workloads that only the new plan has
  double elapsed_s = 0;
};

// Tunes the layouts of a model, unless the bank has them. Proven layouts are in the bank when it
// returns, so that every later load of the model uses them. `display` is called with the completed
// share of a job with that budget and the time used.
ModelLayouts tune_model_layouts(Journal& journal, const TuneOptions& options, const Device& device,
                                const JobIdentity& job, double budget_s,
                                const std::function<void(double, double)>& display,
                                const std::function<bool()>& stopped);

// The gain of two consecutive changes of a model: speed-ups and their bounds are multiplied.
Gain combined_gain(const Gain& first, const Gain& second);

}  // namespace aoe

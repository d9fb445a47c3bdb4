#pragma once

#include <functional>
#include <string>
#include <vector>

#include "bank/bank.h"
#include "device/device.h"
#include "measure/statistics/intervals.h"
#include "tune/runner/runner.h"

namespace aoe {

// A gain that a bank claims for one workload of a model, and the same speed-up measured now: the
// time of the policy that the bank's one replaced divided by that of the bank's, in place in the
// model.
struct Claim {
  int workload = 0;
  Gain claimed;
  Interval now;
  double margin = 0;               // of a proof on this host; a smaller loss does not count
  std::optional<Failure> failure;  // of the replaced policy; then nothing was measured

  bool is_covered() const {
    return !failure && claimed.speedup_low <= now.median && now.median <= claimed.speedup_high;
  }
  bool is_slower() const { return !failure && now.high * (1 + margin) < 1; }
  bool is_faster() const { return !failure && now.low > 1; }
};

// Measures the claims of a bank about a model. `runner` has opened the model with the bank's
// policies; `entries` has what the bank found for each workload. `on_progress` is called with the
// completed share.
std::vector<Claim> measured_claims(Runner& runner, const OpenedModel& opened,
                                   const std::vector<LookupResult>& entries, const Device& device,
                                   const std::function<void(double)>& on_progress);

}  // namespace aoe

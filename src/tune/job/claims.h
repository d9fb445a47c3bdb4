#pragma once

#include <functional>
#include <string>
#include <vector>

#include "bank/bank.h"
#include "device/device.h"
#include "measure/statistics/intervals.h"
#include "tune/machine/machine.h"

namespace aoe {

// What a bank claims of one workload of a model, and what is measured of it now: how many times as
// fast the bank's policy is as the default one, in its place in the model.
struct Claim {
  int workload = 0;
  Gain claimed;
  Interval now;
  double margin = 0;  // of a proof on this host, as for gains: a smaller loss counts as none
  std::optional<Failure> failure;  // of the default policy: nothing was measured

  bool is_covered() const {
    return !failure && claimed.speedup_low <= now.median && now.median <= claimed.speedup_high;
  }
  bool is_slower() const { return !failure && now.high * (1 + margin) < 1; }
};

// `machine` has opened the model as it runs with the bank, whose entries for its workloads are
// `entries`. `told` hears which share of the work is done.
std::vector<Claim> measured_claims(Machine& machine, const Opened& opened,
                                   const std::vector<Found>& entries, const Device& device,
                                   const std::function<void(double)>& told);

}  // namespace aoe

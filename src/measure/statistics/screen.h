#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "device/measure.h"

namespace aoe {

// Screening times a candidate by the minimum of a few runs. It only selects what races, so it may
// err, but it must be cheap.
struct ScreenOptions {
  size_t runs = 5;
  // A candidate is dropped if its first `hopeless_runs` runs all take more than `hopeless` times
  // the baseline's time. Disturbances are rarely that large twice in a row.
  double hopeless = 2.5;
  size_t hopeless_runs = 2;
};

enum class Screened : uint8_t {
  not_timed,   // has no run, or too few
  kept,        // has all its runs; their minimum counts
  hopeless,    // too slow to need more runs
  impossible,  // faster than the machine can be: measure again from the start
  failed,      // crashed, hung or could not be loaded
};

// Evaluates the runs so far. `baseline_ns` is the baseline's minimum time, `least_ns` a lower bound
// on the time of any run.
Screened screen_runs(std::span<const double> runs_ns, double baseline_ns, double least_ns,
                     const ScreenOptions& options = {});

// Lower bound on the time of a workload with this many operations, whichever algorithm its policy
// chooses, on cores with these rates. Bytes give no such bound, because caches may hold them.
double least_ns(double operations, const Rates& rates);

}  // namespace aoe

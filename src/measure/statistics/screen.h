#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "device/measure.h"

namespace aoe {

// A first look at a candidate: few runs, of which the shortest counts. It only ever chooses what is
// raced, so it may be wrong, but it must be cheap.
struct ScreenOptions {
  size_t runs = 5;
  // A candidate that takes so many times as long as the baseline is dropped. What
  // disturbs a machine seldom takes as much, twice in a row.
  double hopeless = 2.5;
  size_t hopeless_runs = 2;
};

enum class Screened : uint8_t {
  go_on,     // run it once more
  kept,      // its shortest time is known
  hopeless,  // it need not be
  fault,     // no machine is that fast: measure it again from the start
};

// Of the runs so far. `baseline_ns` is the baseline's shortest time, `least_ns` what no run can
// take less than.
Screened screen_runs(std::span<const double> runs_ns, double baseline_ns, double least_ns,
                     const ScreenOptions& options = {});

// What no run of a workload with so many operations can take less than, whichever algorithm its
// policy chooses, on cores with these rates. Bytes give no such bound, since caches hold them.
double least_ns(double operations, const Rates& rates);

}  // namespace aoe

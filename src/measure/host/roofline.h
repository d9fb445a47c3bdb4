#pragma once

#include "device/measure.h"

namespace aoe {

// What bounds some work on a machine: its operations, or the bytes it moves, whichever the machine
// needs longer for. `share` is what the work came to of the measured rate; bytes that lie in caches
// move faster than that rate, which is memory's.
struct Roofline {
  bool by_operations = false;
  double rate = 0;  // GFLOP/s, or GB/s
  double share = 0;
};
Roofline roofline_of(double operations, double bytes, double ns, const Rates& rates);

}  // namespace aoe

#pragma once

#include "device/measure.h"

namespace aoe {

// Roofline position of some work: whether operations or bytes bound it (whichever takes the machine
// longer), and the rate that it reached there. `share` is relative to the measured peak or memory
// bandwidth. It may exceed 1, because bytes in caches move faster than memory.
struct Roofline {
  bool by_operations = false;
  double rate = 0;  // GFLOP/s if bound by operations, otherwise GB/s
  double share = 0;
};
Roofline roofline_of(double operations, double bytes, double ns, const Rates& rates);

}  // namespace aoe

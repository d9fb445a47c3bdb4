#pragma once

#include <cstdint>

namespace aoe {

// What was measured of something against what it is to replace.
struct Gain {
  double before_ns = 0;
  double after_ns = 0;
  // How many times as fast, between which bounds.
  double speedup_low = 0;
  double speedup_high = 0;
  double noise_floor = 1;  // A/A, measured meanwhile
  int64_t samples = 0;     // pairs of times

  bool operator==(const Gain&) const = default;
};

}  // namespace aoe

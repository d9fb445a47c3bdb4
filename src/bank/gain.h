#pragma once

#include <algorithm>
#include <cstdint>

namespace aoe {

// The measured gain of a change over its baseline.
struct Gain {
  double before_ns = 0;
  double after_ns = 0;
  // Confidence bounds of the speed-up.
  double speedup_low = 0;
  double speedup_high = 0;
  double noise_floor = 1;  // A/A noise floor of the host, as a factor
  int64_t samples = 0;     // number of measured pairs

  bool operator==(const Gain&) const = default;
};

// A larger speed-up is no measurement.
inline constexpr double kMostSpeedUp = 1e9;

// The speed-up of a change after another one, for their lower bounds.
inline double speed_up_of_both(double first, double second) {
  return std::min(first * second, kMostSpeedUp);
}

}  // namespace aoe

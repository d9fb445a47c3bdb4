#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "base/clock.h"

namespace aoe {

// Times of one participant, per call. Short calls are timed in batches, each of which counts by its
// mean.
struct ParticipantTimes {
  std::vector<double> medians_ns;  // for each round: the median of the turn
  double minimum_ns = 0;           // over all turns
  int64_t calls = 0;               // counted calls
};

struct RoundsOptions {
  double seconds = 3;
  uint32_t seed = 0;  // for the random order within rounds
  // Called after every round with the completed share of the work, from 0 to 1.
  std::function<void(double share)> progress = {};
  Clock clock = steady_ns;
};

// Measures rounds in which every participant has one turn, in random order, so that changes of the
// machine from second to second affect all participants alike. A turn is one uncounted call, which
// refills the caches, and then counted calls for some milliseconds. There are as many rounds as
// `seconds` allow, but at least as many as an interval needs.
std::vector<ParticipantTimes> measure_rounds(const std::vector<std::function<void()>>& participants,
                                             const RoundsOptions& options);

}  // namespace aoe

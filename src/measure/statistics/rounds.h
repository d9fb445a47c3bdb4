#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "base/clock.h"

namespace aoe {

// What the calls of one participant took.
struct ParticipantTimes {
  std::vector<double> medians_ns;  // of its turn in each round
  double minimum_ns = 0;           // of all its calls
  int64_t calls = 0;
};

struct RoundsOptions {
  double seconds = 3;
  uint32_t seed = 0;  // of the order in each round
  // Told after every round how much of the work is done, from 0 to 1.
  std::function<void(double share)> progress = {};
  Clock clock = steady_ns;
};

// Rounds in which every participant has one turn, in random order, so that what changes the machine
// from second to second changes all of them alike. A turn is one call that is not counted, which
// pays for what others left in the caches, and then calls for some milliseconds. There are as many
// rounds as the time allows, but at least as many as an interval needs.
std::vector<ParticipantTimes> measure_rounds(const std::vector<std::function<void()>>& participants,
                                             const RoundsOptions& options);

}  // namespace aoe

#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace aoe {

// Finalists against each other and against the baseline. In each round everyone who is still in
// has one turn, in random order. Only who was faster within a round counts, so neither what slows
// the machine for some rounds nor a turn that went wrong decides anything.
struct RaceOptions {
  // Of dropping the one that is truly best, in the whole race.
  double error = 0.05;
  // Whoever has not lost by then is still in: a tie.
  size_t most_rounds = 24;
  // Behind the leader by more than this in every one of so many rounds is out at once.
  double far_behind = 0.05;
  size_t far_rounds = 4;
};

struct Race {
  // Who is still in, the fastest first. The baseline, participant 0, is always among them.
  std::vector<size_t> remaining;
  // The baseline's time over each participant's, the middle one of its rounds.
  std::vector<double> speed_up;
  // One is left beside the baseline, or none, or there were enough rounds.
  bool over = false;
};

// rounds_ns[r][p] is what participant p took in round r: 0 if it was out before. Who is out stays
// out.
Race race_of(std::span<const std::vector<double>> rounds_ns, const RaceOptions& options = {});

}  // namespace aoe

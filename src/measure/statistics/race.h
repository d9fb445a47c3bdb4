#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace aoe {

// A race compares finalists with each other and with the baseline. In each round every remaining
// participant has one turn, in random order. Only the order within a round counts, so neither a
// slowdown of the machine for some rounds nor a single disturbed turn decides.
struct RaceOptions {
  // Bound on the probability that the truly best participant is dropped, over the whole race.
  double error = 0.05;
  // The race ends after this many rounds; participants not eliminated by then are tied.
  size_t most_rounds = 24;
  // A participant that has run at least `far_rounds` rounds and was slower than the leader by more
  // than `far_behind` in each of them is dropped at once.
  double far_behind = 0.05;
  size_t far_rounds = 4;
};

struct Race {
  // Participants not eliminated, fastest first. The baseline, participant 0, is always included.
  std::vector<size_t> remaining;
  // For each participant: the median over its rounds of the baseline's time divided by its time.
  std::vector<double> speed_up;
  // At most one participant remains besides the baseline, or `most_rounds` rounds were run.
  bool over = false;
};

// Evaluates a race. rounds_ns[r][p] is the time of participant p in round r, or 0 if it was
// eliminated before; an eliminated participant does not return.
Race race_of(std::span<const std::vector<double>> rounds_ns, const RaceOptions& options = {});

}  // namespace aoe

#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "measure/statistics/proof.h"

namespace aoe {

// What of a model's accepted policies carries over to the whole model: all of them together are
// compared with the baseline (the model as it was opened), and if they are neither proven nor seen
// to be faster, halves are, and halves of those. What is in no part that is faster is taken back.

// Some of the policies, by number and in order, against the baseline in whole passes.
struct WholeTrial {
  std::vector<size_t> policies;
  Proof proof;
};

struct WholeStep {
  bool done = false;
  // To be compared next, or, once it is done, to be kept.
  std::vector<size_t> policies;
};

// What to do next, after these trials of `count` policies. Asked again with one trial more each
// time, it comes to an end after at most `most_trials`; what was not tried by then is taken back.
// Neighbours stay together longest, so whoever numbers the policies puts large gains first.
WholeStep next_whole(size_t count, std::span<const WholeTrial> trials, size_t most_trials = 16);

}  // namespace aoe

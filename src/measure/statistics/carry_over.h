#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "measure/statistics/proof.h"

namespace aoe {

// Selects the accepted policies that carry over to the whole model. First all of them together are
// compared with the baseline (the model as it was opened). If they are neither proven faster nor
// have a median speed-up above 1, halves are compared, then halves of those. Policies in no faster
// subset are dropped.

// A comparison of a subset of the policies with the baseline in whole passes. Policies are numbers,
// ascending.
struct WholeTrial {
  std::vector<size_t> policies;
  Proof proof;
  bool failed = false;  // one of them crashed: the blocks before do not count
};

struct WholeStep {
  bool done = false;
  // The subset to compare next or, if `done`, to keep.
  std::vector<size_t> policies;
};

// The next step after these trials of `count` policies. The caller appends the trial of the
// returned subset and calls again, until the search is done after at most `most_trials` trials;
// policies in no subset tried by then are dropped. Neighbours are separated last, so callers number
// the policies by gain, largest first.
WholeStep next_whole(size_t count, std::span<const WholeTrial> trials, size_t most_trials = 16);

}  // namespace aoe

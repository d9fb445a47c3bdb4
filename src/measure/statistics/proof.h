#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "measure/statistics/intervals.h"

namespace aoe {

// An anytime-valid sequential test of whether a candidate is faster than the baseline. Data come
// block by block, and the result may be looked at after each: the error probability holds for all
// looks together.
//
// A block is what one fresh process measured: pairs of the baseline's and the candidate's time, one
// right after the other, in random order. Effects that last as long as a process, above all where
// its memory lies, bias all its pairs alike, so that a block counts as one value however many pairs
// it has.
//
// Testing by betting (Shafer 2021). For the hypothesis "the median speed-up is at most v", the
// e-value starts at 1 and is multiplied by 2q if a block's speed-up is above v and by 2 (1 - q) if
// not, with a constant q > 1/2. Under the hypothesis that is a nonnegative supermartingale, and by
// Ville's inequality it ever reaches 1/a with probability a at most. It is assumed only that, given
// the past, a block's speed-up is above v with probability 1/2 at most: neither a distribution nor
// that blocks are identically distributed.
//
// The v whose e-values, in both directions, have stayed below 200 (a = 0.005 for each side) form a
// confidence sequence with kConfidence (Howard, Ramdas, McAuliffe & Sekhon 2021; Waudby-Smith &
// Ramdas 2024).

struct ProofOptions {
  // A speed-up that is not larger counts as none.
  double margin = kMargin;
  // After so many, what is not proven is rejected.
  size_t most_blocks = 24;
  // No decision before the last block: for estimating an interval, not for a test.
  bool to_the_end = false;
};

enum class ProofDecision : uint8_t { go_on, accepted, rejected };

struct Proof {
  ProofDecision decision = ProofDecision::go_on;
  // The baseline's time over the candidate's, with kConfidence; from 0 to infinity as long as
  // there are too few blocks for more.
  Interval speed_up;
};

// The median over a block's pairs of the baseline's time over the candidate's: robust against
// disturbances of a few pairs, and against those that slow down both sides alike.
double block_speed_up(std::span<const double> baseline_ns, std::span<const double> candidate_ns);

// The state of the test after these speed-ups, one for each block. The candidate is accepted once
// the interval lies above the margin, and rejected once that cannot happen within `most_blocks`.
Proof proof_of(std::span<const double> speed_ups, const ProofOptions& options = {});

// The fewest blocks that can reach the threshold, if all agree: 1.76^10 = 285, 1.76^9 = 162.
inline constexpr size_t kFewestBlocks = 10;

// How many of n blocks must agree for the e-value to reach 1 / error, the error of one side: more
// than n if even all of them are too few.
size_t required_agreeing_blocks(size_t n, double error = (1 - kConfidence) / 2);

}  // namespace aoe

#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "measure/statistics/intervals.h"

namespace aoe {

// An anytime-valid sequential test of whether a candidate is faster than the baseline. Data come
// block by block, and the test may be evaluated after each: the error probability holds for all
// looks together.
//
// A block consists of the pairs that one fresh process measured: the baseline's and the candidate's
// time, one right after the other, in random order. Effects that last as long as a process, above
// all the placement of its memory, bias all its pairs alike, so a block counts as one observation
// however many pairs it has.
//
// Testing by betting (Shafer 2021). For the hypothesis "the median speed-up is at most v", the
// e-value starts at 1 and is multiplied by 2q if a block's speed-up is above v and by 2 (1 - q) if
// not, with a constant q > 1/2. Under the hypothesis it is a nonnegative supermartingale, and by
// Ville's inequality it ever reaches 1/a with probability at most a. The only assumption is that,
// given the past, a block's speed-up is above v with probability at most 1/2. Blocks need not be
// identically distributed.
//
// The v whose e-values, in both directions, have stayed below 200 (a = 0.005 for each side) form a
// confidence sequence with kConfidence (Howard, Ramdas, McAuliffe & Sekhon 2021; Waudby-Smith &
// Ramdas 2024).

struct ProofOptions {
  // The null hypothesis is a median speed-up of at most 1 + margin.
  double margin = kMargin;
  // Maximum number of blocks: a candidate not accepted by then is rejected.
  size_t most_blocks = 24;
  // No decision before the last block: for estimating an interval, not for a test.
  bool to_the_end = false;
};

enum class ProofDecision : uint8_t { undecided, accepted, rejected };

struct Proof {
  ProofDecision decision = ProofDecision::undecided;
  // The baseline's time divided by the candidate's, with kConfidence. The interval is from 0 to
  // infinity while there are too few blocks to exclude anything.
  Interval speed_up;
};

// The median over a block's pairs of the baseline's time divided by the candidate's: robust against
// disturbances of a few pairs and against those that slow down both sides alike.
double block_speed_up(std::span<const double> baseline_ns, std::span<const double> candidate_ns);

// The state of the test after these speed-ups, one for each block. The candidate is accepted once
// the interval lies above the margin, and rejected once that cannot happen within `most_blocks`.
Proof proof_of(std::span<const double> speed_ups, const ProofOptions& options = {});

// Minimum number of blocks to reach the threshold, if all agree: 1.76^10 = 285, 1.76^9 = 162.
inline constexpr size_t kFewestBlocks = 10;

// Number of blocks out of n that must agree for the e-value to reach 1 / error, where `error` is
// that of one side. More than n if even n agreeing blocks are too few.
size_t required_agreeing_blocks(size_t n, double error = (1 - kConfidence) / 2);

}  // namespace aoe

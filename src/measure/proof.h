#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "measure/intervals.h"

namespace aoe {

// Whether a candidate is proven faster than an incumbent, on data that come block by block and may
// be looked at after each: the chance of a false proof holds for all looks together.
//
// A block is what one fresh process measured: pairs of an incumbent's and a candidate's time, one
// right after the other, in random order. What one process has of its own, where its memory lies
// above all, biases all its pairs alike, so that a block counts as one value however many it has.
//
// The test is a game of bets. Against "the speed-up is at most v" a fixed share of the wealth is
// put, block after block, on the block's ratio being above v. If that were a coin's toss or worse,
// wealth would grow a hundredfold with a chance of one in a hundred, ever (Ville's inequality);
// nothing else is assumed of the times, neither how they are distributed nor that they stay the
// same. The interval holds the v against which neither side has become that rich.

struct ProofOptions {
  // A speed-up that is not larger counts as none.
  double margin = kMargin;
  // After so many, what is not proven is rejected.
  size_t most_blocks = 24;
  // No decision before the last block: for an interval, not for a proof.
  bool to_the_end = false;
};

enum class ProofDecision : uint8_t { go_on, accepted, rejected };

struct Proof {
  ProofDecision decision = ProofDecision::go_on;
  // The incumbent's time over the candidate's, with kConfidence; from 0 to infinity as long as
  // there are too few blocks for more.
  Interval speed_up;
};

// Of a block's pairs, the incumbent's time over the candidate's. What disturbs a few pairs, or all
// of them alike, does not change it.
double block_speed_up(std::span<const double> incumbent_ns, std::span<const double> candidate_ns);

// Of the speed-ups of all blocks so far. It is accepted once the interval lies above the margin,
// and rejected once that cannot happen within `most_blocks` any more.
Proof proof_of(std::span<const double> speed_ups, const ProofOptions& options = {});

// As many blocks that all agree are a proof, fewer are none.
inline constexpr size_t kFewestBlocks = 10;

// Of n blocks, how many must agree for a proof to the confidence of one side: more than n if even
// all of them are too few.
size_t agreeing_blocks(size_t n, double error = (1 - kConfidence) / 2);

}  // namespace aoe

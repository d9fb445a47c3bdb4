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
  // Probability of accepting a candidate for which it holds: ErrorBudget::next.
  double error = (1 - kConfidence) / 2;
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
// the e-value reaches 1 / error, and rejected once that cannot happen within `most_blocks`.
Proof proof_of(std::span<const double> speed_ups, const ProofOptions& options = {});

// Number of blocks out of n that must agree for the e-value to reach 1 / error. More than n if even
// n agreeing blocks are too few.
size_t required_agreeing_blocks(size_t n, double error);

// Number of blocks that a proof takes if all agree, and the most that it may take: so many that
// four may disagree.
size_t fewest_blocks(double error);
size_t most_blocks(double error);

// Divides the error probability of a job over its claims (alpha spending). A job makes an unknown
// number of claims: that a policy is faster, that the whole model is. With probability of at least
// 1 - kJobError all that it accepts are true (a union bound: no assumption about how claims
// depend on each other).
class ErrorBudget {
 public:
  static constexpr double kJobError = 0.01;

  explicit ErrorBudget(size_t claims_made = 0) : claims_(claims_made) {}

  // The error of the next claim: kJobError * 10 / ((i + 9) (i + 10)) for the i-th. These sum to
  // kJobError over all i. The first ten, as many as a small job makes, share half of it; later ones
  // get so little less that the fiftieth needs only six more agreeing blocks than the first.
  double next();

 private:
  size_t claims_;
};

}  // namespace aoe

#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "base/clock.h"

namespace aoe {

// How one process measures a block of pairs for a proof (proof.h), and why so: found by experiment
// on a shared machine, which `make trials` repeats.
struct BlockOptions {
  // The most blocks that a proof takes are then measured in two seconds. What the middle ratio of a
  // block still varies by, 0.05 % to 1 % on a quiet machine, is little beside the margin.
  double block_ns = 80e6;
  // A turn is as many calls in a row as fit into this, but one at least. The machine changes while
  // a turn lasts: with turns of 0.2, 1 and 3 ms, blocks of short kernels varied by 0.03 %, 0.1 %
  // and 0.2 %.
  double turn_ns = 200e3;
  // Of calls that take long: one turn that was disturbed must not decide.
  size_t fewest_pairs = 3;
  uint32_t seed = 0;  // of the order within pairs
  Clock clock = steady_ns;
};

// What one call took, turn by turn.
struct Block {
  std::vector<double> baseline_ns;
  std::vector<double> candidate_ns;
  double spent_ns = 0;  // with what was not counted
};

// Both must work on the same memory. Of two copies of one kernel with separate memory, one was
// up to 11 % faster for as long as its process lived; on the same memory less than 1 %.
Block measure_block(const std::function<void()>& baseline, const std::function<void()>& candidate,
                    const BlockOptions& options = {});

}  // namespace aoe

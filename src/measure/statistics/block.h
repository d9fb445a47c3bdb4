#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "base/clock.h"

namespace aoe {

// Parameters by which one process measures a block of pairs for a proof (proof.h). The values were
// found by experiment on a shared machine, which `make trials` repeats.
struct BlockOptions {
  // Duration of a block. The maximum number of blocks of a proof then takes two seconds, and the
  // median ratio of a block varies by 0.05 % to 1 % on a quiet machine, little compared with the
  // margin.
  double block_ns = 80e6;
  // Duration of a turn: as many consecutive calls as fit, but at least one. Turns are short because
  // the machine drifts during a turn: with turns of 0.2, 1 and 3 ms, blocks of short kernels varied
  // by 0.03 %, 0.1 % and 0.2 %.
  double turn_ns = 200e3;
  // Minimum number of pairs, for calls too long for block_ns: the median of three outvotes one
  // disturbed turn.
  size_t fewest_pairs = 3;
  uint32_t seed = 0;  // for the random order within pairs
  Clock clock = steady_ns;
};

// Mean time of one call in each turn; element i of both vectors is one pair.
struct Block {
  std::vector<double> baseline_ns;
  std::vector<double> candidate_ns;
  double spent_ns = 0;  // including uncounted calls
};

// Times both functions in pairs of turns, in random order within a pair. Both must work on the same
// memory: of two copies of one kernel on separate memory, one was up to 11 % faster for the whole
// lifetime of its process; on the same memory less than 1 %.
Block measure_block(const std::function<void()>& baseline, const std::function<void()>& candidate,
                    const BlockOptions& options = {});

}  // namespace aoe

#pragma once

#include <optional>
#include <vector>

#include "expr/workload.h"
#include "policy/policy.h"

namespace aoe {

// Computes stages by strips of the last one (Halide's compute_at and store_at): the strip axis of
// every stage becomes two, the strip and the position in it. For each strip, a stage before the
// last computes the positions that later stages read there, including the halo, which neighbouring
// strips compute too:
//
//   rows of the last stage        |  strip 0  |  strip 1  |  strip 2  |
//   rows of the one before it   [---------------]
//                                            [---------------]
//                                                        [---------------]
//
// The result is an ordinary workload. StripLoop says which of its values live for one strip only.

// Returns nothing if the stages cannot be split: values between them are used elsewhere, are not
// indexed by the strip axis in one dimension, or the positions read do not advance by a constant
// stride.
std::optional<Workload> split_into_strips(const Workload& workload, const Strips& strips);

// A loop over strips.
struct StripLoop {
  int64_t points = 1;       // number of iterations: strips x points of the axes before them
  size_t axes = 0;          // number of leading axes that it iterates over; 0: not possible
  std::vector<int> values;  // values that live for one strip
};

// Returns the strip loop that computes each stage, or -1. `given`: for each stage of `workload`,
// the stage of the given workload it comes from, as numbered in `strips`. `loops` receives an entry
// for each of `strips`; one whose stages cannot be computed strip by strip has no axes.
std::vector<int> stages_by_strip(const Workload& workload, const std::vector<size_t>& given,
                                 const std::vector<Strips>& strips, std::vector<StripLoop>& loops);

}  // namespace aoe

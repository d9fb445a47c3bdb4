#pragma once

#include <optional>
#include <vector>

#include "expr/workload.h"
#include "policy/policy.h"

namespace aoe {

// Stages that are computed by strips of their last one (Halide's compute_at and store_at): the
// strip axis of every stage becomes two, which strip and where in it. A stage before the last makes
// for each strip what those after it read there, with the halo that neighbouring strips make too:
//
//   rows of the last stage        |  strip 0  |  strip 1  |  strip 2  |
//   rows of the one before it   [---------------]
//                                            [---------------]
//                                                        [---------------]
//
// The result is a workload like any other; that a strip's values need not be kept longer than the
// strip is what a StripLoop says.

// Nothing if the stages are not of this form: what is between them is used elsewhere, is not
// indexed by the strip axis in the same dimension everywhere, or does not move along it evenly.
std::optional<Workload> split_into_strips(const Workload& workload, const Strips& strips);

// A loop over strips: their number, with all axes before the strip axis, and the values that live
// for one of them.
struct StripLoop {
  int64_t points = 1;
  size_t axes = 0;  // that count them
  std::vector<int> values;
};

// For each stage, the loop that computes it, or -1. `given` is which stage of the workload it was
// made for, as `strips` count them. Loops without stages have no points: something in them cannot
// be computed strip by strip.
std::vector<int> stages_by_strip(const Workload& workload, const std::vector<size_t>& given,
                                 const std::vector<Strips>& strips, std::vector<StripLoop>& loops);

}  // namespace aoe

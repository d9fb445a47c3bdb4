#pragma once

#include <vector>

#include <set>

#include "expr/workload.h"
#include "loop/group.h"
#include "policy/strips.h"

namespace aoe {

// Inlines elementwise stages into their consumers where that repeats no expensive work and removes
// no result. `may`: the stages that may be inlined. `original_stage` receives, for each stage of
// the result, its index in `workload`.
Workload inline_stages(const Workload& workload, const std::vector<bool>& may,
                       std::vector<size_t>& original_stage);

// Groups consecutive stages that can share their outer axes. `alone`: the stages that must not.
// Stages of a strip loop (`loop_of`) share at least its axes, and are grouped only with each other.
std::vector<Group> groups_of(const Workload& workload, const std::vector<bool>& alone,
                             const std::vector<int>& loop_of, const std::vector<StripLoop>& loops);

// Whether the stage reads the values `made` at its own outer point only, for the first `outer`
// axes, and has the extents `shared` there.
bool reads_same_outer_point(const Workload& workload, const Stage& stage, const std::set<int>& made,
                            const Shape& shared, size_t outer);

}  // namespace aoe

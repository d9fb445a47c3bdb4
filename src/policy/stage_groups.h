#pragma once

#include <vector>

#include <set>

#include "expr/workload.h"
#include "loop/group.h"
#include "policy/strips.h"

namespace aoe {

// The same computation with elementwise stages written into what uses them, where that neither
// repeats work nor hides a result. `may` says which stages may be. `original_stage` gets, for each
// stage of the result, its index in `workload`.
Workload inline_stages(const Workload& workload, const std::vector<bool>& may,
                       std::vector<size_t>& original_stage);

// Consecutive stages that can share their outer axes. `alone` says which stages must not. Stages
// that are computed by strips share at least the axes of their loop, and share with no others.
std::vector<Group> groups_of(const Workload& workload, const std::vector<bool>& alone,
                             const std::vector<int>& loop_of, const std::vector<StripLoop>& loops);

// Whether the stage meets what the others have made at the same outer point, `outer` axes deep.
bool meets_at_same_point(const Workload& workload, const Stage& stage, const std::set<int>& made,
                         const Shape& shared, size_t outer);

}  // namespace aoe

#pragma once

#include <vector>

#include <set>

#include "expr/workload.h"
#include "policy/strips.h"

namespace aoe {

// Stages that run together: for every point of the first `outer` axes, which they all share, one
// after the other. What only they use then stays in the cache.
struct Group {
  std::vector<size_t> stages;
  size_t outer = 0;
  size_t strip_axes = 0;  // of these, those that count strips
};

// The same computation with elementwise stages written into what uses them, where that neither
// repeats work nor hides a result. `may` says which stages may be; `left` is which those are that
// are left.
Workload inlined(const Workload& workload, const std::vector<bool>& may, std::vector<size_t>& left);

// Consecutive stages that can share their outer axes. `alone` says which stages must not. Stages
// that are computed by strips share at least the axes of their loop, and share with no others.
std::vector<Group> groups_of(const Workload& workload, const std::vector<bool>& alone,
                             const std::vector<int>& loop_of, const std::vector<StripLoop>& loops);

// Whether the stage meets what the others have made at the same outer point, `outer` axes deep.
bool meets_at_same_point(const Workload& workload, const Stage& stage, const std::set<int>& made,
                         const Shape& shared, size_t outer);

// Whether a value is made and used by the stages of one group only, and is no result.
bool is_internal(const Workload& workload, const Group& group, int value);

}  // namespace aoe

#pragma once

#include <vector>

#include "expr/workload.h"

namespace aoe {

// Stages that run together: for every point of the first `outer` axes, which they all share, one
// after the other. What only they use then stays in the cache.
struct Group {
  std::vector<size_t> stages;
  size_t outer = 0;
};

// The same computation with elementwise stages written into what uses them, where that neither
// repeats work nor hides a result. `may` says which stages may be; `left` is which those are that
// are left.
Workload inlined(const Workload& workload, const std::vector<bool>& may, std::vector<size_t>& left);

// Consecutive stages that can share their outer axes. `alone` says which stages must not.
std::vector<Group> groups_of(const Workload& workload, const std::vector<bool>& alone);

// Whether a value is made and used by the stages of one group only, and is no result.
bool is_internal(const Workload& workload, const Group& group, int value);

}  // namespace aoe

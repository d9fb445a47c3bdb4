#pragma once

#include <vector>

#include "expr/workload.h"

namespace aoe {

// Stages that run together: for every point of the first `outer` axes, which they all share, one
// after the other. What only they use then stays in the cache.
struct Group {
  std::vector<size_t> stages;
  size_t outer = 0;
  size_t strip_axes = 0;  // of these, those that count strips
};

// Whether a value is made and used by the stages of one group only, and is no result.
bool is_internal(const Workload& workload, const Group& group, int value);

}  // namespace aoe

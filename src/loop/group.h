#pragma once

#include <vector>

#include "expr/workload.h"

namespace aoe {

// Consecutive stages that share their first `outer` axes and run one after the other for each point
// of these, so that values that only they use stay in the cache.
struct Group {
  std::vector<size_t> stages;  // ascending
  size_t outer = 0;
  size_t strip_axes = 0;  // number of leading outer axes that count strips
};

// Whether only stages of the group write and read a value, and the workload does not return it.
bool is_internal(const Workload& workload, const Group& group, int value);

}  // namespace aoe

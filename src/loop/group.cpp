#include "loop/group.h"

#include <algorithm>

#include "expr/rewrite.h"

namespace aoe {

bool is_internal(const Workload& workload, const Group& group, int value) {
  const int storage = workload.storage(value);
  if (is_result(workload, storage)) return false;
  const bool made_here = std::any_of(group.stages.begin(), group.stages.end(), [&](size_t s) {
    const std::vector<int>& made = workload.stages[s].outputs;
    return std::find(made.begin(), made.end(), storage) != made.end();
  });
  if (!made_here) return false;
  for (size_t s = 0; s < workload.stages.size(); ++s) {
    if (std::binary_search(group.stages.begin(), group.stages.end(), s)) continue;
    if (loaded_by(workload, workload.stages[s]).contains(storage)) return false;
  }
  return true;
}

}  // namespace aoe

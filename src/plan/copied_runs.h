#pragma once

#include <optional>
#include <vector>

#include "expr/workload.h"

namespace aoe {

// Elements that lie side by side both in an input of a workload and in a result that they are
// copied to as they are. Positions are in elements.
struct CopiedRun {
  size_t input = 0;
  int64_t from = 0;
  int64_t to = 0;
  int64_t count = 0;

  bool operator==(const CopiedRun&) const = default;
};

// The runs that a result consists of, where it is nothing but copies: the whole of an input under
// another shape, a slice across the slowest axis, inputs one behind the other. Nothing otherwise.
std::optional<std::vector<CopiedRun>> copied_runs(const Workload& workload, size_t output);

}  // namespace aoe

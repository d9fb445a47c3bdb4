#pragma once

#include <optional>
#include <vector>

#include "expr/workload.h"

namespace aoe {

// Elements that are contiguous both in an input of a workload and in an output that they are copied
// to unchanged.
struct CopiedRun {
  size_t input = 0;
  int64_t from = 0;  // position in the input, in elements
  int64_t to = 0;    // position in the output, in elements
  int64_t count = 0;

  bool operator==(const CopiedRun&) const = default;
};

// Returns the runs that an output consists of, if it is nothing but copies: an input in another
// shape, a slice of the outermost axis, a concatenation along it. Otherwise returns nullopt.
std::optional<std::vector<CopiedRun>> copied_runs(const Workload& workload, size_t output);

}  // namespace aoe

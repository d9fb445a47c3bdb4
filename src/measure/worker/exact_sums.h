#pragma once

#include <optional>
#include <vector>

#include "expr/workload.h"

namespace aoe {

// For each output of a workload: the number of binary places of its elements on edge-case inputs
// (edge_case_tensor), which are multiples of 1/2. Sums and products of such numbers are exact in
// any order while their magnitudes are below 2^(24 - places) in f32: a kernel must then give the
// very numbers of the reference, and a missing or repeated term shows however long the sum is.
// Nothing if an operation rounds.
std::vector<std::optional<int>> binary_places(const Workload& workload);

}  // namespace aoe

#pragma once

#include <vector>

#include "op/operator.h"

namespace aoe {

// Returns a host kernel that applies a workload of moves to strings. The workload moves i64
// numbers: the 1-based positions of the strings in a list of all input strings, 0 for the empty
// string. `operands` lists the inputs of the call that the workload reads; all outputs of the
// workload are such numbers.
HostKernel string_mover(Workload workload, std::vector<int> operands);

}  // namespace aoe

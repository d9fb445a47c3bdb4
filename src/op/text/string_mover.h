#pragma once

#include <vector>

#include "op/operator.h"

namespace aoe {

// Runs a workload that moves elements on strings: their places in a list of all of them, counted
// from 1, stand in for them, 0 for the empty string. `operands` says which inputs of the call the
// workload takes; all its outputs are such numbers.
HostKernel string_mover(Workload workload, std::vector<int> operands);

}  // namespace aoe

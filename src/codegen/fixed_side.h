#pragma once

#include <vector>

#include "device/device.h"
#include "expr/workload.h"

namespace aoe {

// The values of an expression of a stage that is made of weights and constants alone, over some of
// the stage's axes, in that order.
Tensor evaluated_side(const Workload& workload, const Stage& stage, const Expr& side,
                      const std::vector<size_t>& axes, const Device& device,
                      const std::vector<Tensor>& weights);

}  // namespace aoe

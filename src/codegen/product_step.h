#pragma once

#include "codegen/step.h"
#include "policy/policy.h"

namespace aoe {

// Runs a contraction as products of matrices, tile by tile. `weights` are the workload's inputs
// that are known.
std::unique_ptr<Kernel::Step> product_step(const Workload& workload, const Stage& stage,
                                           const ProductPolicy& policy, const Device& device,
                                           const std::vector<Tensor>& weights);

}  // namespace aoe

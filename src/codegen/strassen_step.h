#pragma once

#include <memory>

#include "codegen/kernel.h"
#include "policy/policy.h"

namespace aoe {

// A contraction with weights, by seven products of half the size. Of the policy, the tile and the
// prefetch count.
std::unique_ptr<Kernel::Step> strassen_step(const Workload& workload, const Stage& stage,
                                            const ProductPolicy& policy, const Device& device,
                                            const std::vector<Tensor>& weights);

}  // namespace aoe

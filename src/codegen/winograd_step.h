#pragma once

#include <memory>

#include "codegen/kernel.h"
#include "policy/winograd.h"

namespace aoe {

// A convolution by Winograd's algorithm, with tiles of results of one side. Of the policy, the tile
// and the prefetch count.
std::unique_ptr<Kernel::Step> winograd_step(const Workload& workload, const Stage& stage, int side,
                                            const ProductPolicy& policy, const Device& device,
                                            const std::vector<Tensor>& weights);

}  // namespace aoe

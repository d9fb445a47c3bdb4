#pragma once

#include "device/device.h"
#include "policy/contraction.h"

namespace aoe {

// A side of a contraction that is made of weights and constants alone, before it is laid out for
// tiles: its values over those of the outer axes that it depends on, then over two groups of axes.
struct FixedSide {
  Tensor elements;
  std::vector<int64_t> outer_steps;  // matrices between neighbours, for each outer axis
};

// `weights` has a tensor for each input of the workload that is a weight.
FixedSide fixed_side(const Workload& workload, const Stage& stage, const Contraction& contraction,
                     const Expr& side, const std::vector<size_t>& first,
                     const std::vector<size_t>& second, const Device& device,
                     const std::vector<Tensor>& weights);

}  // namespace aoe

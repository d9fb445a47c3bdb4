#pragma once

#include <vector>

#include "loop/nest.h"

namespace aoe {

// Splits a loop along output axes (from `outer` on) where a comparison of positions changes its
// outcome or a load leaves its buffer. In each part, comparisons and loads that are decided by its
// extents are folded. Reductions, and loops with too many parts, are returned unsplit.
std::vector<Loop> parts_of(const std::vector<NestBuffer>& buffers, const Loop& loop, size_t outer);

}  // namespace aoe

#pragma once

#include <vector>

#include "loop/nest.h"

namespace aoe {

// The loop cut along output axes (from `outer` on) where a comparison of positions changes its
// outcome or a load leaves its buffer, each part with what is then known decided. A loop with
// nothing to cut, or too much, is its only part.
std::vector<Loop> parts_of(const std::vector<NestBuffer>& buffers, const Loop& loop, size_t outer);

}  // namespace aoe

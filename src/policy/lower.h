#pragma once

#include "policy/fusion.h"
#include "policy/nest.h"

namespace aoe {

// The loops of a group's stages, before anything is decided about them: loads name buffers,
// elements that lie beyond an edge are parted from those that do not, and axes that memory does not
// tell apart are one. Parts that need outer axes of their own become nests of their own.
std::vector<Nest> lower(const Workload& workload, const Group& group);

// A loop over one nest of buffers, from expressions whose loads index those buffers' shapes. For
// what is no stage of a workload: packing.
std::vector<Loop> lower_loop(const std::vector<NestBuffer>& buffers, Loop loop, size_t outer);

}  // namespace aoe

#pragma once

#include "device/device.h"
#include "policy/nest.h"

namespace aoe {

// Decides the outer axes of a nest of one loop and how each loop runs, from what its memory
// accesses look like on the device.
void choose_loops(Nest& nest, const Device& device);

// Whether all whole vectors that the loop stores are aligned, given that its buffers are.
bool may_stream(const Nest& nest, const Loop& loop, const LoopPolicy& policy, const Device& device);

}  // namespace aoe

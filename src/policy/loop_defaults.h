#pragma once

#include "device/device.h"
#include "policy/nest.h"

namespace aoe {

// The default decisions for a nest: the outer axes where they are open and how each loop runs, from
// what its memory accesses look like on the device.
NestPolicy choose_loops(const Nest& nest, const Device& device);

}  // namespace aoe

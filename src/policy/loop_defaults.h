#pragma once

#include "device/device.h"
#include "loop/nest.h"

namespace aoe {

// The default decisions for a nest: the outer axes where they are open and how each loop runs, from
// what its memory accesses look like on the device. `streams` says whether stores may go past the
// caches, which is not for what is read at once.
NestPolicy choose_loops(const Nest& nest, const Device& device, bool streams);

}  // namespace aoe

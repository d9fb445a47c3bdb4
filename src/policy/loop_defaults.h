#pragma once

#include "device/device.h"
#include "loop/nest.h"

namespace aoe {

// Returns the default decisions about a nest: the number of outer axes if it is open, and the
// policy of each loop, from the strides of its memory accesses. `streams`: stores may be
// non-temporal; false for results that are read at once.
NestPolicy choose_loops(const Nest& nest, const Device& device, bool streams);

}  // namespace aoe

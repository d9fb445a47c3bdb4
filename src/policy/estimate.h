#pragma once

#include "device/device.h"
#include "expr/workload.h"

namespace aoe {

// How long a workload is expected to take on one core of the device under its default policy:
// vectors that are computed, loaded and stored, by how they lie, or bytes that are moved, whichever
// takes longer. Made to compare the same work with its values lying otherwise, so what it says of
// different work is rough.
double estimated_seconds(const Workload& workload, const Device& device);

}  // namespace aoe

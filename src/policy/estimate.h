#pragma once

#include "device/device.h"
#include "expr/workload.h"

namespace aoe {

// Returns the estimated time of a workload on one core of the device under its default policy: the
// cycles of its vector operations, loads and stores by their strides, or of moving its bytes,
// whichever is longer. It is meant for comparing layouts of the same workload; comparisons of
// different workloads are rough.
double estimated_seconds(const Workload& workload, const Device& device);

}  // namespace aoe

#pragma once

#include "tests/cpp/random_workloads.h"

namespace aoe {

// Chains of stages in which later stages read windows of earlier ones, so that they can be computed
// by strips with a halo. Some end in normalized rows, or are attention.
RandomWorkload random_chain(uint64_t seed);

}  // namespace aoe

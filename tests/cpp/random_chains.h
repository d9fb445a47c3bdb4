#pragma once

#include "tests/cpp/random_workloads.h"

namespace aoe {

// Stages of which the later ones see windows of what the earlier ones make, so that they can be
// computed by strips with a halo; some end in rows that are normalized, or are attention.
RandomWorkload random_chain(uint64_t seed);

}  // namespace aoe

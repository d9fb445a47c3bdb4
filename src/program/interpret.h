#pragma once

#include "program/executor.h"

namespace aoe {

// Runs a nest on the reference evaluator, loop by loop, and a tile by plain arithmetic in f64: what
// a Program computes, with no code generated.
NestFunction interpreted(const Nest& nest);
TileFunction interpreted(const Tile& tile);

}  // namespace aoe

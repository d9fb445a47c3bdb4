#pragma once

#include "codegen/jit/compiler.h"
#include "program/tile.h"

namespace aoe {

// The function that a tile becomes: a TileFunction (backend/executor.h).
using TileCode = void(const TileCall*);

// Both as long as they live.
EmitModule emit_tile(const Tile& tile, const Device& device);

}  // namespace aoe

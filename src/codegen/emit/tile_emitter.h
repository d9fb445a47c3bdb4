#pragma once

#include "codegen/jit/compiler.h"
#include "program/tile.h"

namespace aoe {

// The type of a tile's machine code: that of a TileFunction (backend/executor.h).
using TileCode = void(const TileCall*);

// Returns a function that emits the tile. It refers to both arguments, which must outlive it.
EmitModule emit_tile(const Tile& tile, const Device& device);

}  // namespace aoe

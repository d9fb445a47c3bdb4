#pragma once

#include <algorithm>
#include <cstdint>

#include "base/shape.h"
#include "codegen/jit.h"
#include "codegen/tile.h"

namespace aoe {

// The rows of a line are shared out evenly over as few tiles as a policy's height allows, higher
// ones first.
struct RowTiles {
  int64_t line, per_line, count;

  RowTiles(int64_t rows, int64_t line, int64_t height)
      : line(line), per_line(ceil_div(line, height)), count(rows / line * per_line) {}

  // Of the tile, in its line.
  int64_t first_in_line(int64_t tile) const {
    const int64_t which = tile % per_line;
    return which * (line / per_line) + std::min(which, line % per_line);
  }
  int64_t first(int64_t tile) const { return tile / per_line * line + first_in_line(tile); }
  int height(int64_t tile) const {
    return static_cast<int>(line / per_line + (tile % per_line < line % per_line ? 1 : 0));
  }
  // How many from this one on, in its line, are as high.
  int64_t alike(int64_t tile) const {
    const int64_t which = tile % per_line;
    return (which < line % per_line ? line % per_line : per_line) - which;
  }
};

// Calls for all tiles of one line: `place(at, tile)` says what each works on, `code_of(height)`
// what runs it.
template <typename Place, typename CodeOf>
void call_tiles(TileCall& call, const RowTiles& tiles, const Place& place, const CodeOf& code_of) {
  for (int64_t t = 0; t < tiles.count; t += call.tiles) {
    call.tiles = tiles.alike(t);
    place(call.first, t);
    if (call.tiles > 1) place(call.second, t + 1);
    code_of(tiles.height(t)).template as<TileFunction>()(&call);
  }
}

}  // namespace aoe

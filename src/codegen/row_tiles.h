#pragma once

#include <algorithm>
#include <cstdint>

#include "base/shape.h"

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

}  // namespace aoe

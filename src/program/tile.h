#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "base/shape.h"
#include "device/dot.h"
#include "expr/expr.h"
#include "policy/contraction.h"

namespace aoe {

// What a tile's code depends on: the block of accumulators and what is done with the sums. Sizes
// and strides come when it runs, so that few tiles serve many workloads.
struct Tile {
  Dot dot;  // the instruction that multiplies and adds
  int rows = 1;
  int vectors = 1;  // of `lanes` columns each
  int lanes = 1;
  bool partial = false;      // the last vector has fewer columns
  bool guarded = false;      // no column of the right side beyond those may be read
  bool packed_left = false;  // row by row for each depth, without gaps
  bool pieces = false;       // the depth of the left side comes in pieces
  bool prefetch = false;     // the next block of the right side, shared with other tiles
  bool fetch_lines = false;  // or alone: as much at each depth as is read there
  bool split = false;        // the depth comes in several calls
  bool keeps = false;        // sums are kept beside what is made of them
  bool streaming = false;    // whole vectors of results go past the caches, and are aligned for it
  // Over arg(0), the sum, and loads numbered in the order of `operands`.
  Expr result;
  DType out_dtype = DType::f32;
  struct Operand {
    DType dtype = DType::f32;
    bool by_column = false;  // else one for each row
  };
  std::vector<Operand> operands;

  DType dtype() const { return dot.sum; }
  int64_t width() const { return int64_t{vectors} * lanes; }
};

// What follows a sum may load, and up to three sums of other tiles.
inline constexpr int kMostTileOperands = kMostProductOperands + 3;

// What one tile works on.
struct TilePointers {
  const void* left;
  const void* right;
  void* out;
  void* sums;  // where partial sums are kept when the depth is split
  const void* prefetch;
  const void* operands[kMostTileOperands];
};

// How tiles are called: several in a row, each as far from the one before it as the second is from
// the first. Strides are in elements.
struct TileCall {
  TilePointers first;
  TilePointers second;  // where there are several
  int64_t tiles;
  int64_t depth;
  const int64_t* pieces;  // where pieces of the left side begin
  int64_t piece;          // the depth of each
  int64_t left_row;
  int64_t left_depth;
  int64_t right_depth;
  int64_t out_row;
  int64_t sums_row;
  int64_t columns;        // of the last vector, where it is partial
  int64_t continues;      // sums go on from those kept
  int64_t finishes;       // results are made of them
  int64_t prefetch_step;  // bytes for each depth
  int64_t operand_row[kMostTileOperands];
};

std::string to_string(const Tile& tile);

// The rows of a line are shared out evenly over as few tiles as a policy's height allows, higher
// ones first.
//
// The executor asks for every few tiles, which take less than a microsecond: what needs a division
// is kept, and a product of one line, the usual case, is told from others by a comparison.
struct RowTiles {
  int64_t line, per_line, count;

  RowTiles(int64_t rows, int64_t line, int64_t height)
      : line(line),
        per_line(ceil_div(line, height)),
        count(rows == line ? per_line : rows / line * per_line),
        lower_(line / per_line),
        higher_tiles_(line - lower_ * per_line) {}

  int64_t line_of(int64_t tile) const { return tile < per_line ? 0 : tile / per_line; }
  // Of the tile, in its line.
  int64_t first_in_line(int64_t tile) const {
    const int64_t which = in_line(tile);
    return which * lower_ + std::min(which, higher_tiles_);
  }
  int64_t first(int64_t tile) const { return line_of(tile) * line + first_in_line(tile); }
  int height(int64_t tile) const {
    return static_cast<int>(lower_ + (in_line(tile) < higher_tiles_ ? 1 : 0));
  }
  // How many from this one on, in its line, are as high.
  int64_t run_of_equal_height(int64_t tile) const {
    const int64_t which = in_line(tile);
    return (which < higher_tiles_ ? higher_tiles_ : per_line) - which;
  }

 private:
  int64_t in_line(int64_t tile) const { return tile - line_of(tile) * per_line; }

  int64_t lower_;         // rows of the lower tiles of a line
  int64_t higher_tiles_;  // of a line: those with one row more
};

}  // namespace aoe

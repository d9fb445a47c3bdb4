#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "base/shape.h"
#include "device/dot.h"
#include "expr/expr.h"
#include "policy/contraction.h"

namespace aoe {

// A Tile is everything that the code of a micro-kernel depends on: its block of accumulators and
// its epilogue. Sizes and strides are arguments of a call, so that few tiles serve many workloads.
struct Tile {
  Dot dot;  // the multiply-add instruction
  int rows = 1;
  int vectors = 1;  // of `lanes` columns each
  int lanes = 1;
  bool partial = false;      // the last vector has fewer columns
  bool guarded = false;      // columns of the right side beyond the last must not be read
  bool packed_left = false;  // for each step of the depth, the rows of the left side are contiguous
  bool pieces = false;       // the depth of the left side comes in pieces
  bool prefetch = false;     // fetches a part of the next panel, shared with other row tiles
  bool fetch_lines = false;  // fetches, at each step of the depth, as much as the tile reads there
  bool split = false;        // the depth is split over several calls
  bool wide_sums = false;    // partial sums of a split depth are kept in f64
  bool keeps = false;        // sums are stored in addition to the results
  bool streaming = false;    // results are whole aligned vectors with non-temporal stores
  // The epilogue, over arg(0), the sum, and loads numbered in the order of `operands`.
  Expr result;
  DType out_dtype = DType::f32;
  struct Operand {
    DType dtype = DType::f32;
    bool by_column = false;  // an element for each column; else one for each row
  };
  std::vector<Operand> operands;

  DType dtype() const { return dot.sum; }
  DType sums_dtype() const { return wide_sums ? DType::f64 : dot.sum; }
  int64_t width() const { return int64_t{vectors} * lanes; }
};

// Most operands of a tile: the loads of an epilogue, and up to three sums of other tiles
// (Strassen).
inline constexpr int kMostTileOperands = kMostProductOperands + 3;

// The addresses of one tile.
struct TilePointers {
  const void* left;
  const void* right;
  void* out;
  void* sums;  // partial sums (Tile::split) or kept sums (Tile::keeps)
  const void* prefetch;
  const void* operands[kMostTileOperands];
};

// The argument of a tile's function. One call runs several tiles, all at the distance of the second
// from the first. Strides are in elements.
struct TileCall {
  TilePointers first;
  TilePointers second;  // set if there are several tiles; else read, and multiplied by 0
  int64_t tiles;
  int64_t depth;
  const int64_t* pieces;  // offsets of the pieces of the left side
  int64_t piece;          // steps of depth in a piece
  int64_t left_row;
  int64_t left_depth;
  int64_t right_depth;
  int64_t out_row;
  int64_t sums_row;
  int64_t columns;        // columns of the last vector, if it is partial
  int64_t continues;      // the partial sums are added to the accumulators
  int64_t finishes;       // results are computed and stored
  int64_t prefetch_step;  // bytes per step of the depth
  int64_t operand_row[kMostTileOperands];
};

std::string to_string(const Tile& tile);

// Divides the rows of each line evenly into as few tiles as a policy's height allows, higher ones
// first.
//
// The executor uses it for every few tiles, which take less than a microsecond: results of
// divisions are stored, and a comparison detects the usual case, a product of one line.
struct RowTiles {
  int64_t line, per_line, count;

  RowTiles(int64_t rows, int64_t line, int64_t height)
      : line(line),
        per_line(ceil_div(line, height)),
        count(rows == line ? per_line : rows / line * per_line),
        lower_(line / per_line),
        higher_tiles_(line - lower_ * per_line) {}

  int64_t line_of(int64_t tile) const { return tile < per_line ? 0 : tile / per_line; }
  // The tile's first row, in its line.
  int64_t first_in_line(int64_t tile) const {
    const int64_t which = in_line(tile);
    return which * lower_ + std::min(which, higher_tiles_);
  }
  int64_t first(int64_t tile) const { return line_of(tile) * line + first_in_line(tile); }
  int height(int64_t tile) const {
    return static_cast<int>(lower_ + (in_line(tile) < higher_tiles_ ? 1 : 0));
  }
  // Number of tiles from this one to the last of the same height in its line.
  int64_t run_of_equal_height(int64_t tile) const {
    const int64_t which = in_line(tile);
    return (which < higher_tiles_ ? higher_tiles_ : per_line) - which;
  }

 private:
  int64_t in_line(int64_t tile) const { return tile - line_of(tile) * per_line; }

  int64_t lower_;         // rows of the lower tiles of a line
  int64_t higher_tiles_;  // number of tiles of a line with one row more
};

}  // namespace aoe

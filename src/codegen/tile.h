#pragma once

#include <string>
#include <vector>

#include "device/device.h"
#include "expr/expr.h"
#include "policy/contraction.h"

namespace llvm {
class Module;
}

namespace aoe {

// What a tile's code depends on: the block of accumulators and what is done with the sums. Sizes
// and distances come when it runs, so that few tiles serve many workloads.
struct Tile {
  DType dtype = DType::f32;  // of products and sums
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
};

// What follows a sum may load, and up to three sums of other tiles.
inline constexpr int kMostTileOperands = kMostProductOperands + 3;

// What one tile works on.
struct TilePlace {
  const void* left;
  const void* right;
  void* out;
  void* sums;  // where partial sums are kept when the depth is split
  const void* prefetch;
  const void* operands[kMostTileOperands];
};

// How tiles are called: several in a row, each as far from the one before it as the second is from
// the first. Distances are in elements.
struct TileCall {
  TilePlace first;
  TilePlace second;  // where there are several
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

using TileFunction = void(const TileCall*);

std::string to_string(const Tile& tile);

void emit_tile(llvm::Module& module, const Tile& tile, const Device& device);

}  // namespace aoe

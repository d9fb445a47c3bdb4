#pragma once

#include <cstdint>
#include <string>

namespace aoe {

// How one stage's loops run. Axes count as the loop prints them.
struct LoopPolicy {
  int vector_axis = -1;  // -1: no vectors
  int lanes = 1;
  int unroll = 1;        // vectors side by side
  int block_axis = -1;   // another output axis, unrolled too
  int block = 1;
  bool streaming = false;  // stores go past the caches
  auto operator<=>(const LoopPolicy&) const = default;
};

// How a contraction runs: blocks of rows x vectors in registers, around them blocks that stay in the
// caches.
struct ProductPolicy {
  int rows = 1;
  int vectors = 1;
  int lanes = 1;
  int64_t depth = 0;           // of a block; a whole number of windows
  int64_t columns = 0;         // of a block
  bool columns_first = false;  // all rows for a block of columns before the next, or the other way
  bool prefetch = false;       // the next columns while these are worked on
  bool streaming = false;      // results go past the caches
  auto operator<=>(const ProductPolicy&) const = default;
};

}  // namespace aoe

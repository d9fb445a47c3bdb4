#pragma once

#include "device/device.h"
#include "policy/contraction.h"
#include "policy/policy.h"
#include "policy/winograd.h"

namespace aoe {

// How the sides of a contraction are found in memory.
enum class Side : uint8_t {
  fixed,   // known beforehand: laid out once, for the tiles
  direct,  // as it lies
  packed,  // copied block by block (right sides only)
};

struct ProductShape {
  int64_t outer, rows, columns, depth;
  int64_t column_step;  // blocks of columns are whole multiples of it
  int64_t depth_step;   // and those of the depth
  int64_t line;         // rows that lie evenly in a left side that is read where it lies
  Side left, right;
  DType dtype;
  int64_t left_elements = 0;  // that one outer point reads
  bool transformed = false;   // columns in blocks of a tile's width, all of the depth
};

ProductShape product_shape(const Workload& workload, const Stage& stage, const Contraction& c);

// The products of Winograd's algorithm: of one position in a tile, for all tiles.
ProductShape product_shape(const Winograd& w, int side);
// Of the policy for these, and for those of Strassen's algorithm, `halves`, the tile and the
// prefetch count: blocks of columns are as wide as it.
ProductPolicy default_transformed(const ProductShape& shape, bool halves, const Device& device);

ProductPolicy default_product(const ProductShape& shape, const Device& device);

// As of loops (policy/streaming.h).
bool is_worth_streaming(const ProductShape& shape, const Device& device);

// Cycles of all tiles together on a core that has both sides at hand and takes `each` for a
// multiply-add of vectors.
double product_cycles(const ProductShape& shape, const ProductPolicy& policy, const Device& device,
                      double each);

}  // namespace aoe

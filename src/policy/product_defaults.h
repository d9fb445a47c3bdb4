#pragma once

#include "device/device.h"
#include "policy/contraction.h"
#include "policy/policy.h"
#include "policy/winograd.h"

namespace aoe {

// How the sides of a contraction are found in memory.
enum class Side : uint8_t {
  prepacked,  // constant: packed once, for the tiles
  direct,     // as it lies
  packed,     // copied block by block (right sides only)
};

struct ProductShape {
  int64_t outer, rows, columns, depth;
  int64_t column_step;  // blocks of columns are whole multiples of it
  int64_t depth_step;   // and those of the depth
  int64_t line;         // rows that lie evenly in a left side that is read where it lies
  Side left, right;
  DType dtype;
  int64_t left_elements = 0;  // that one outer point reads
  // Inside Winograd's or Strassen's algorithm: blocks are one tile wide and as deep as the product.
  bool transformed = false;
};

ProductShape product_shape(const Workload& workload, const Stage& stage, const Contraction& c);

// The products of Winograd's algorithm: of one position in a tile, for all tiles.
ProductShape product_shape(const Winograd& w, int side);
// For these, and with `strassen` for the products of Strassen's algorithm. Only tile and prefetch
// are choices; the blocks follow from the tile.
ProductPolicy default_transformed(const ProductShape& shape, bool strassen, const Device& device);

ProductPolicy default_product(const ProductShape& shape, const Device& device);

// As of loops (policy/streaming.h).
bool is_worth_streaming(const ProductShape& shape, const Device& device);

// Cycles of all tiles together on a core that has both sides at hand and takes `each` for a
// multiply-add of vectors.
double product_cycles(const ProductShape& shape, const ProductPolicy& policy, const Device& device,
                      double each);

}  // namespace aoe

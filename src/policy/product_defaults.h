#pragma once

#include "device/device.h"
#include "policy/contraction.h"
#include "policy/policy.h"
#include "policy/winograd.h"

namespace aoe {

// How tiles read a side of a contraction.
enum class Side : uint8_t {
  prepacked,  // constant: packed into panels once, when the kernel is made
  direct,     // in place
  packed,     // copied block by block at run time (right sides only)
};

// The sizes of a product, and how its sides are read: the input of the analytic model.
struct ProductShape {
  int64_t outer, rows, columns, depth;
  int64_t column_step;  // column blocks (nc) are multiples of this
  int64_t depth_step;   // depth blocks (kc) are multiples of this
  int64_t line;         // rows with a constant stride in a direct left side; divides `rows`
  Side left, right;
  DType dtype;
  int64_t left_elements = 0;  // elements of the left side that one outer point reads
  // Inside Winograd's or Strassen's algorithm: blocks are one tile wide and as deep as the product.
  bool transformed = false;
};

ProductShape product_shape(const Workload& workload, const Stage& stage, const Contraction& c);

// The shape of one of the (m+2)^2 products of Winograd's algorithm, m = `side`: all tiles x
// channels by channels x filters.
ProductShape product_shape(const Winograd& w, int side);
// The default policy of a transformed product: of Strassen's algorithm if `strassen`, else of
// Winograd's. Only tile and prefetch are choices; the blocks follow from the tile.
ProductPolicy default_transformed(const ProductShape& shape, bool strassen, const Device& device);

// The default policy of any other product.
ProductPolicy default_product(const ProductShape& shape, const Device& device);

// Whether the result is too large to stay in the caches until it is read (see policy/streaming.h).
bool is_worth_streaming(const ProductShape& shape, const Device& device);

// Cycles of all tiles together on one core, with both sides in its caches. `each`: cycles of a
// multiply-add of vectors.
double product_cycles(const ProductShape& shape, const ProductPolicy& policy, const Device& device,
                      double each);

}  // namespace aoe

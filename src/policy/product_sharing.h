#pragma once

#include "policy/policy.h"
#include "policy/product_defaults.h"

namespace aoe {

// How threads share a product: each does blocks of columns for a part of the rows. The blocks of
// one part follow each other, so that who shares rows has the same ones in each of several
// products.
struct ProductSharing {
  int64_t columns = 0;    // of a block; no more than the policy's
  int64_t row_parts = 1;  // into which the tiles of rows are cut
  int64_t grain = 1;      // pairs of a part and a block that are worth a thread

  bool operator==(const ProductSharing&) const = default;
};

// `row_tiles`: tiles of rows, of which every part has some.
ProductSharing product_sharing(const ProductShape& shape, const ProductPolicy& policy,
                               int64_t row_tiles, int threads);

}  // namespace aoe

#pragma once

#include "policy/policy.h"
#include "policy/product_defaults.h"

namespace aoe {

// How threads divide a product: a task is a part of the rows x a block of columns. The blocks of
// one part are consecutive tasks, so that a thread gets the same rows in each of several products.
struct ProductSharing {
  int64_t columns = 0;    // width of a block; at most the policy's
  int64_t row_parts = 1;  // number of parts of the row tiles
  int64_t grain = 1;      // least number of tasks that are worth a thread

  bool operator==(const ProductSharing&) const = default;
};

// `row_tiles`: number of row tiles of the product; every part gets at least one.
ProductSharing product_sharing(const ProductShape& shape, const ProductPolicy& policy,
                               int64_t row_tiles, int threads);

}  // namespace aoe

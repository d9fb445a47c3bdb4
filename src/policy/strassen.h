#pragma once

#include "device/device.h"
#include "loop/nest.h"
#include "policy/product_defaults.h"

namespace aoe {

// Strassen's algorithm for a matrix product with weights: seven products of sums of quarters
// replace eight products of quarters. Sums of weights are prepacked, and sums of products stay in
// the accumulators of tiles, so the only additional pass is the one that sums the left side. Rows
// are divided into even and odd ones, so that rows that are added are adjacent in memory and, as in
// images and text, of similar magnitude. Only the search chooses it, never the defaults: errors
// are bounded relative to the larger of two neighbouring rows, not to each (docs/numerics.md).

// Whether a contraction can run by Strassen's algorithm: f32, one outer point, a left side with
// contiguous depth, weights, and an even number of columns and depth.
bool may_run_by_strassen(const Workload& workload, const Stage& stage, const Contraction& c,
                         const ProductShape& shape);

// The shape of one of the seven products. With an odd number of rows, the odd half has one less.
ProductShape strassen_shape(const ProductShape& shape);

// Number of sums of quarters of the left side, each the left side of one product. The other two
// products read a quarter in place.
inline constexpr int64_t kStrassenSums = 5;

// Pairs of rows that are processed at once: the policy's, or a default that keeps their sums and
// products in the caches and still reuses each panel of weights often enough.
int64_t strassen_strip(const ProductPolicy& policy);

// A nest that computes the kStrassenSums sums of each pair of rows; with `alone`, of a last row
// without a partner, which counts as zeros. It reads the value of the left side and writes to its
// buffer without a value, with `pitch` elements from row to row and `step` from sum to sum.
Nest strassen_sums(const Workload& workload, const MatrixLoad& left, const ProductShape& shape,
                   bool alone, int64_t pitch, int64_t step, const Device& device);

// A nest that writes zeros to rows of `width` elements of its buffer without a value.
Nest strassen_zeros(int64_t rows, int64_t width, const Device& device);

}  // namespace aoe

#pragma once

#include "device/device.h"
#include "loop/nest.h"
#include "policy/product_defaults.h"

namespace aoe {

// A product of matrices with weights by Strassen's algorithm: of the four quarters of both sides,
// seven products of sums make what eight would. Sums of weights are made beforehand, those of
// products where tiles hold them in registers, so that a pass over the left side is all it costs.
// Rows are halved into even and odd ones: what is added lies near each other, as it does in an
// image or a text, and is of a kind. Only a search chooses it, never the defaults: errors are as
// small as the direct method's beside the largest of a pair of rows, not beside each of them.

// Whether a contraction can run so: a plain left side, weights, and a half of the columns and of
// the depth.
bool may_run_by_strassen(const Workload& workload, const Stage& stage, const Contraction& c,
                         const ProductShape& shape);

// One of the seven products. Of an odd number of rows the odd half lacks one.
ProductShape strassen_shape(const ProductShape& shape);

// How many sums of quarters of the left side there are; one product takes each. The two others take
// a quarter as it lies.
inline constexpr int64_t kStrassenSums = 5;

// Pairs of rows that are worked on at once: as the policy says, or else so few that their sums and
// what lies between stay near, and so many that weights come often enough to be worth it.
int64_t strassen_strip(const ProductPolicy& policy);

// The sums of pairs of rows, or of the last row, which may have no other: from the value that is
// the left side into the buffer without a value, whose rows are `pitch` and whose matrices are
// `step` elements apart.
Nest strassen_sums(const Workload& workload, const MatrixLoad& left, const ProductShape& shape,
                   bool alone, int64_t pitch, int64_t step, const Device& device);

// Zeros for rows of `width` elements, in the buffer without a value.
Nest strassen_zeros(int64_t rows, int64_t width, const Device& device);

}  // namespace aoe

#pragma once

#include <random>

#include "base/tensor.h"

namespace aoe {

// Normally distributed floats; integers from {0, 1}, so that indices stay in range. Strings are not
// supported.
Tensor random_tensor(const TensorType& type, std::mt19937& random);

// Edge cases: zeros of both signs, halves, small powers of two, occasionally a larger number. Their
// sums and products are exact in any order, so that functions of sums may be ill-conditioned.
// Integers as in random_tensor.
Tensor edge_case_tensor(const TensorType& type, std::mt19937& random);

}  // namespace aoe

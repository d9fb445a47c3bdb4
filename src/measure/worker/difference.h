#pragma once

#include <vector>

#include "base/tensor.h"

namespace aoe {

// Difference between results and expected values of the same types. NaN agrees with NaN.
struct Difference {
  double largest = 0;      // largest absolute difference; infinite if only one element is NaN
  double of = 0;           // largest magnitude of the finite expected elements
  int64_t not_finite = 0;  // elements that are infinite or NaN on either side
};
Difference difference_of(const std::vector<Tensor>& results, const std::vector<Tensor>& expected);

}  // namespace aoe

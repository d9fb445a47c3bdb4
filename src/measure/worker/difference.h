#pragma once

#include <vector>

#include "base/tensor.h"

namespace aoe {

// How far results are from others of the same types. Where both are NaN they agree.
struct Difference {
  double largest = 0;      // between two elements; infinite where only one is NaN
  double of = 0;           // the largest finite number among the others
  int64_t not_finite = 0;  // elements that are infinite or NaN on either side
};
Difference difference_of(const std::vector<Tensor>& results, const std::vector<Tensor>& expected);

}  // namespace aoe

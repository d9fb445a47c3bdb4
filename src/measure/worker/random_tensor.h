#pragma once

#include <random>

#include "base/tensor.h"

namespace aoe {

// Normal floats; integers from {0, 1}, so that indices stay in range. Not of strings.
Tensor random_tensor(const TensorType& type, std::mt19937& random);

// Numbers at which code takes another way: zeros of both signs, halves, small powers of two, now
// and then one that is large beside the others. Sums and products of them are exact in any order,
// so what follows a sum may be as sensitive as it likes. Integers as above.
Tensor awkward_tensor(const TensorType& type, std::mt19937& random);

}  // namespace aoe

#pragma once

#include "expr/builder.h"

namespace aoe {

// A discrete Fourier transform of `length` points along `axis` of `x`, whose last axis holds real
// parts, or real and imaginary ones. Shorter signals are continued with zeros, longer ones cut off.
struct Fourier {
  int64_t axis = 0;
  int64_t length = 1;
  bool inverse = false;
  // Forward: only the first half of the (symmetric) result. Inverse: the input is such a half, and
  // the result is real.
  bool onesided = false;
};
Operand fourier(Builder& b, const Operand& x, const Fourier& how);

}  // namespace aoe

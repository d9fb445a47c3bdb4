#pragma once

#include "expr/builder.h"

namespace aoe {

// A discrete Fourier transform of `length` points along `axis` of `x`, whose last axis holds real
// parts, or real and imaginary parts. Shorter signals are padded with zeros, longer ones truncated.
struct Fourier {
  int64_t axis = 0;
  int64_t length = 1;
  bool inverse = false;
  // Forward: only the non-redundant half of the spectrum of a real signal. Inverse: the input is
  // such a half, and the result is real.
  bool onesided = false;
};
Operand fourier(Builder& b, const Operand& x, const Fourier& how);

}  // namespace aoe

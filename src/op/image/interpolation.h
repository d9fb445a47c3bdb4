#pragma once

#include <functional>
#include <span>

#include "expr/builder.h"

namespace aoe {

// A separable interpolation kernel: the weights of the elements around a point.
struct Interpolation {
  int64_t taps;                             // elements with a weight, per axis
  int64_t lead;                             // number of taps before the element at floor(point)
  std::function<Expr(const Expr&)> weight;  // by signed distance of point and tap, in elements
};

// Interpolates between the two neighbours.
Interpolation linear_interpolation();
// Keys' cubic convolution over four neighbours, with its coefficient `a`.
Interpolation cubic_interpolation(double a);

// One tap at a point: its index along all axes and the product of its weights.
struct Tap {
  Axes index;
  Expr weight;
};
// `taps` are the numbers of the tap along each axis, counted from 0.
Tap tap_at(const Interpolation& how, std::span<const Expr> point, std::span<const Expr> taps);

}  // namespace aoe

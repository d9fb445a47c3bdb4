#pragma once

#include <functional>
#include <span>

#include "expr/builder.h"

namespace aoe {

// A way to weigh the elements around a point that lies between them.
struct Interpolation {
  int64_t taps;  // elements that take part, along one axis
  int64_t lead;  // how many of them come before the one right below the point
  std::function<Expr(const Expr&)> weight;  // of the distance from the point, in elements
};

// Between the two neighbours.
Interpolation linear_interpolation();
// Keys' convolution of four neighbours, with its coefficient `a`.
Interpolation cubic_interpolation(double a);

// One element that takes part at a point of several axes: its index and its weight there.
struct Tap {
  Axes index;
  Expr weight;
};
// `taps` counts the elements along each axis from 0.
Tap tap_at(const Interpolation& how, std::span<const Expr> point, std::span<const Expr> taps);

}  // namespace aoe

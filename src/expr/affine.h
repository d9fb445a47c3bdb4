#pragma once

#include <optional>
#include <vector>

#include "base/shape.h"
#include "expr/expr.h"

namespace aoe {

// constant + sum of coefficient x axis: what an index must be to have strides.
struct Affine {
  int64_t constant = 0;
  std::vector<int64_t> coefficients;  // one for each axis
};

std::optional<Affine> affine_of(const Expr& index, size_t axis_count);

// The offset of an index in a tensor of that shape, which it may leave.
std::optional<Affine> affine_offset(const std::vector<Expr>& index, const Shape& shape,
                                    size_t axis_count);
Expr offset_of(const std::vector<Expr>& index, const Shape& shape);

struct Interval {
  int64_t low;
  int64_t high;  // included

  bool within(const Interval& other) const { return low >= other.low && high <= other.high; }
};

// Where an integer expression's values lie, given the axes' extents (all at least 1). Nothing when
// it depends on loaded values.
std::optional<Interval> interval_of(const Expr& index, const Shape& extents);

// The same; `overflows` is set where an addition, negation or multiplication of what the axes
// decide comes near the ends of 64 bits.
std::optional<Interval> interval_of(const Expr& index, const Shape& extents, bool& overflows);

// Whether an index is known to stay inside a tensor of that shape.
bool stays_inside(const std::vector<Expr>& index, const Shape& shape, const Shape& extents);

}  // namespace aoe

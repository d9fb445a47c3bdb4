#pragma once

#include <optional>
#include <vector>

#include "base/shape.h"
#include "expr/expr.h"

namespace aoe {

// constant + sum of coefficient x axis: the form of an index that has strides.
struct Affine {
  int64_t constant = 0;
  std::vector<int64_t> coefficients;  // one per axis
};

// The affine form of an index over `axis_count` axes; none if it has no such form.
std::optional<Affine> affine_of(const Expr& index, size_t axis_count);

// The linear offset of an index in a tensor of that shape, also where it is out of bounds.
std::optional<Affine> affine_offset(const std::vector<Expr>& index, const Shape& shape,
                                    size_t axis_count);
Expr offset_of(const std::vector<Expr>& index, const Shape& shape);

struct Interval {
  int64_t low;
  int64_t high;  // included

  bool within(const Interval& other) const { return low >= other.low && high <= other.high; }
};

// Bounds of an integer expression over axes of these extents (all at least 1). None if they are
// unknown, for instance for loaded values that no min or max clamps.
std::optional<Interval> interval_of(const Expr& index, const Shape& extents);

// The same; sets `overflows` if an addition, subtraction, negation or multiplication of bounded
// operands may exceed 2^61, well before it would overflow 64 bits.
std::optional<Interval> interval_of(const Expr& index, const Shape& extents, bool& overflows);

// Whether an index is provably in bounds of a tensor of that shape.
bool stays_inside(const std::vector<Expr>& index, const Shape& shape, const Shape& extents);

}  // namespace aoe

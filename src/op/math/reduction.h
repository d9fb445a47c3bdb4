#pragma once

#include "op/context.h"

namespace aoe {

// The axes of a tensor that a reduction runs over, and the shape of its result.
class ReducedAxes {
 public:
  // `axes` may be negative and in any order. With `keep`, reduced axes remain, with extent 1.
  ReducedAxes(const Shape& shape, const std::vector<int64_t>& axes, bool keep);

  const Shape& kept() const { return kept_; }
  const Shape& over() const { return over_; }
  // Number of elements that are reduced to one.
  int64_t count() const { return element_count(over_); }

  // Returns the index into the tensor for a point of the result and a point of the reduced axes.
  Axes index(const Axes& out, const Axes& in) const;

 private:
  std::vector<bool> reduced_;  // by axis of the tensor
  bool keep_;
  Shape kept_;
  Shape over_;
};

// Returns all axes from `first` on.
std::vector<int64_t> axes_since(int64_t first, int64_t rank);

// Reduces `element(x)` over `axes`, which remain, with extent 1.
Operand reduce_keeping(Builder& b, const Reducer& reducer, const Operand& x,
                       const std::vector<int64_t>& axes,
                       const std::function<Expr(const Expr&)>& element);

// Returns the position along `axis` that the reducer (arg_max_of, arg_min_of) selects.
Operand best_position(Builder& b, const Operand& x, int64_t axis, bool keep,
                      const Reducer& reducer);

}  // namespace aoe

#pragma once

#include "op/context.h"

namespace aoe {

// Which axes of a tensor a reduction goes over, and what is left of its shape.
class ReducedAxes {
 public:
  // `axes` may be negative and in any order. With `keep` reduced axes stay, with extent 1.
  ReducedAxes(const Shape& shape, const std::vector<int64_t>& axes, bool keep);

  const Shape& kept() const { return kept_; }
  const Shape& over() const { return over_; }
  // Number of elements that become one.
  int64_t count() const { return element_count(over_); }

  // Index into the tensor for a point of the result and one of the reduced axes.
  Axes index(const Axes& out, const Axes& in) const;

 private:
  std::vector<bool> reduced_;  // for each axis of the tensor
  bool keep_;
  Shape kept_;
  Shape over_;
};

// All axes from `first` on.
std::vector<int64_t> axes_since(int64_t first, int64_t rank);

// `element` of each x reduced over `axes`, which stay with extent 1.
Operand reduce_keeping(Builder& b, const Reducer& reducer, const Operand& x,
                       const std::vector<int64_t>& axes,
                       const std::function<Expr(const Expr&)>& element);

// Position along `axis` of what the reducer (arg_max_of, arg_min_of) chooses.
Operand best_position(Builder& b, const Operand& x, int64_t axis, bool keep,
                      const Reducer& reducer);

}  // namespace aoe

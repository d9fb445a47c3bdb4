#pragma once

#include <optional>

#include "op/math/matmul.h"

namespace aoe {

// The reverse of a sliding window: along one spatial axis, output position o receives block
// position i through kernel position k wherever o + pad = i x stride + k x dilation.
//
// The positions that share a remainder by the stride meet the same kernel positions, so an output
// axis is laid out as [quotient, remainder]: kernel and block indexes are then affine and no work
// is spent on pairs that never meet. That asks for a dilation of 1; otherwise each pair is tested.
class FoldAxis {
 public:
  struct Geometry {
    int64_t kernel;
    int64_t stride;
    int64_t dilation;
    int64_t pad;  // at the begin
    int64_t output;
  };
  explicit FoldAxis(const Geometry& g);

  // Loops: over the quotient and the remainder, reducing over `taps()`.
  int64_t quotients() const { return quotients_; }
  int64_t remainders() const { return remainders_; }
  int64_t taps() const { return taps_; }

  Expr kernel(const Expr& remainder, const Expr& tap) const;
  // Outside where the pair meets no block.
  Expr block(const Expr& quotient, const Expr& tap) const;
  bool kernel_runs_out() const { return taps_ * remainders_ > g_.kernel; }

  // What [quotient, remainder], seen as one axis, has before the first output, and in all.
  int64_t before() const { return before_; }
  int64_t laid_out() const { return quotients_ * remainders_; }

 private:
  Geometry g_;
  int64_t quotients_;
  int64_t remainders_;
  int64_t taps_;
  int64_t first_ = 0;  // quotient of the first one laid out
  int64_t before_ = 0;
};

// A fold along all spatial axes: a contraction of `element(lead, reduced, kernel index, block
// index)` over the axes `over` and the kernel, for each point of [lead..., output...].
struct Fold {
  std::vector<FoldAxis> axes;
  Shape output;

  using Element = std::function<Expr(const Axes& lead, const Axes& reduced, const Axes& kernel,
                                     const Axes& block)>;

  bool kernel_runs_out() const;
  Operand sum(Builder& b, DType dtype, const Shape& lead, const Shape& over, const Element& element,
              const Finish& finish = {}) const;
};

}  // namespace aoe

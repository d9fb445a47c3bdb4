#pragma once

#include <optional>

#include "op/math/matmul.h"

namespace aoe {

// One spatial axis of a fold, the adjoint of a sliding window (col2im): output position o receives
// block position i through kernel position k if o + pad = i x stride + k x dilation.
//
// Output positions with the same remainder modulo the stride meet the same kernel positions. The
// output axis is therefore laid out as [quotient, remainder]: kernel and block indexes are affine,
// and pairs that never meet cost nothing. This requires a dilation of 1; otherwise each pair is
// tested.
class FoldAxis {
 public:
  struct Geometry {
    int64_t kernel;
    int64_t stride;
    int64_t dilation;
    int64_t pad;  // before the first output
    int64_t output;
  };
  explicit FoldAxis(const Geometry& g);

  // Extents of the loops over quotient and remainder, and of the reduction.
  int64_t quotients() const { return quotients_; }
  int64_t remainders() const { return remainders_; }
  int64_t taps() const { return taps_; }

  // Returns the index of the kernel; it can be out of bounds if kernel_index_may_exceed().
  Expr kernel(const Expr& remainder, const Expr& tap) const;
  // Returns the index of the block, out of bounds if there is none for the pair.
  Expr block(const Expr& quotient, const Expr& tap) const;
  bool kernel_index_may_exceed() const { return taps_ * remainders_ > g_.kernel; }

  // In [quotient, remainder] as one axis: elements before the first output, and the total number.
  int64_t before() const { return before_; }
  int64_t laid_out() const { return quotients_ * remainders_; }

 private:
  Geometry g_;
  int64_t quotients_;
  int64_t remainders_;
  int64_t taps_;
  int64_t first_ = 0;  // quotient of the first element of the layout
  int64_t before_ = 0;
};

// A fold along all spatial axes: `sum` contracts element(lead, reduced, kernel index, block index)
// over the axes `over` and the kernel, for each point of [lead..., output...].
struct Fold {
  std::vector<FoldAxis> axes;
  Shape output;

  using Element = std::function<Expr(const Axes& lead, const Axes& reduced, const Axes& kernel,
                                     const Axes& block)>;

  bool kernel_index_may_exceed() const;
  Operand sum(Builder& b, DType dtype, const Shape& lead, const Shape& over, const Element& element,
              const Finish& finish = {}) const;
};

}  // namespace aoe

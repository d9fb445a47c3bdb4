#pragma once

#include "op/context.h"

namespace aoe {

// How a window slides over the spatial axes of a tensor (those after batch and channel): shared by
// convolutions and poolings.
struct Window {
  Shape input;  // extents of the spatial axes
  Shape kernel;
  Shape strides;
  Shape dilations;
  Shape pads_begin;
  Shape pads_end;
  Shape output;

  size_t rank() const { return kernel.size(); }

  // Extent that the kernel covers along a spatial axis.
  int64_t span(size_t axis) const;
  // The input's index that kernel position `k` meets at output position `o`; outside where it lies
  // in the padding.
  Expr position(size_t axis, const Expr& o, const Expr& k) const;
  // The same along all spatial axes; `out` and `in` start with the first of them.
  Axes positions(std::span<const Expr> out, std::span<const Expr> in) const;
  // The same without the kernel's positions that meet nothing but padding, wherever it stands. A
  // kernel's extents come from a file and may be absurd; what it sees of the input never is.
  Window without_blind_positions() const;
  // Whether some window reaches beyond the input's edges.
  bool reaches_outside() const;
  // The element at `index`, `outside` in the padding.
  Expr load(const Operand& x, Axes index, const Expr& outside) const {
    return reaches_outside() ? x.or_outside(std::move(index), outside) : x(std::move(index));
  }
};

// What strides, dilations, pads and auto_pad say for a kernel over `x`, a shape with batch and
// channel in front. With `ceil_mode` a last window that only begins inside counts too.
Window window_of(const OpContext& op, const Shape& x, Shape kernel, bool ceil_mode = false);

// The spatial attribute `name`: `count` numbers of at least `least`, each `otherwise` if left out.
Shape spatial_attribute(const OpContext& op, std::string_view name, size_t count, int64_t otherwise,
                        int64_t least);

// The extents after batch and channel. Fails if `x` has none.
Shape spatial_extents(const Shape& x);

enum class AutoPad : uint8_t { explicit_pads, same_upper, same_lower, valid };
AutoPad auto_pad_of(const OpContext& op);

}  // namespace aoe

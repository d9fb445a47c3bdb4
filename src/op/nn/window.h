#pragma once

#include "op/context.h"

namespace aoe {

// The geometry of a window that slides over the spatial axes of a tensor (those after batch and
// channel); shared by convolutions and poolings.
struct Window {
  Shape input;  // extents of the spatial axes
  Shape kernel;
  Shape strides;
  Shape dilations;
  Shape pads_begin;
  Shape pads_end;
  Shape output;

  size_t rank() const { return kernel.size(); }

  // Extent that the dilated kernel covers along a spatial axis.
  int64_t span(size_t axis) const;
  // Index into the input of kernel position `k` at output position `o`; out of bounds in the
  // padding.
  Expr position(size_t axis, const Expr& o, const Expr& k) const;
  // The same along all spatial axes; `out` and `in` begin with the first of them.
  Axes positions(std::span<const Expr> out, std::span<const Expr> in) const;
  // Returns the window without kernel positions that meet only padding at every output position.
  // Kernel extents come from a file and may be huge; the remaining ones are bounded by the input.
  Window without_padding_only_taps() const;
  // Returns whether any window extends beyond the input.
  bool reaches_outside() const;
  // Loads the element at `index`, or `outside` in the padding.
  Expr load(const Operand& x, Axes index, const Expr& outside) const {
    return reaches_outside() ? x.or_outside(std::move(index), outside) : x(std::move(index));
  }
};

// Reads strides, dilations, pads and auto_pad for a kernel over a tensor of shape `x` ([N, C,
// spatial...]). With `ceil_mode`, a last window that extends beyond the padding counts if it begins
// before the padding at the end.
Window window_of(const OpContext& op, const Shape& x, Shape kernel, bool ceil_mode = false);

// Reads a spatial attribute: `count` numbers, each at least `least`; all `otherwise` if it is
// missing.
Shape spatial_attribute(const OpContext& op, std::string_view name, size_t count, int64_t otherwise,
                        int64_t least);

// Returns the extents after batch and channel; fails if there are none.
Shape spatial_extents(const Shape& x);

enum class AutoPad : uint8_t { explicit_pads, same_upper, same_lower, valid };
AutoPad auto_pad_of(const OpContext& op);

}  // namespace aoe

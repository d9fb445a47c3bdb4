#pragma once

#include <optional>

#include "op/nn/window.h"

namespace aoe {

// How channels are divided: each group of output channels sees one group of input channels.
struct Groups {
  int64_t count;
  int64_t inputs;  // channels in a group
  int64_t outputs;

  // [batch, channels, ...] as [batch, group, channels in it, ...]; unchanged where there is one
  // group. Splitting the axis keeps every index affine.
  Shape split(const Shape& shape, size_t channel_axis) const;
};

// Reads the attribute `group`; the channels must divide.
Groups groups_of(const OpContext& op, int64_t input_channels, int64_t output_channels);

// Sum over the channels of a group and the positions of the window of `x` (0 outside) times `w`,
// plus `bias`. Shapes: x [N, C, spatial...], w [M, C / groups, kernel...], bias [M].
Operand convolution(Builder& b, const Operand& x, const Operand& w,
                    const std::optional<Operand>& bias, const Window& window, const Groups& groups);

// The bias of input `index`, if it is there: one number for each output channel.
std::optional<Operand> bias_in(OpContext& op, int index, int64_t channels);

// The kernel's extents after two leading axes of `w`; a kernel_shape attribute must agree.
Shape kernel_of(const OpContext& op, const Shape& w);

}  // namespace aoe

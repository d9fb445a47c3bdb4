#pragma once

#include <optional>

#include "op/nn/window.h"

namespace aoe {

// Channels divided into groups: each group of output channels reads one group of input channels.
struct Groups {
  int64_t count;
  int64_t inputs;  // channels per group
  int64_t outputs;

  // Returns the shape with the channel axis split into [group, channels of the group]; unchanged if
  // there is one group. Splitting the axis keeps every index affine.
  Shape split(const Shape& shape, size_t channel_axis) const;
};

// Reads the attribute `group`; fails unless it divides both numbers of channels.
Groups groups_of(const OpContext& op, int64_t input_channels, int64_t output_channels);

// Convolution of `x` (0 outside) with `w`, plus `bias`. Shapes: x [N, C, spatial...], w [M, C /
// groups, kernel...], bias [M].
Operand convolution(Builder& b, const Operand& x, const Operand& w,
                    const std::optional<Operand>& bias, const Window& window, const Groups& groups);

// Returns the bias in input `index`, if present: one number per output channel.
std::optional<Operand> bias_in(OpContext& op, int index, int64_t channels);

// Returns the extents of the kernel: those of `w` after its two leading axes. An attribute
// kernel_shape must agree.
Shape kernel_of(const OpContext& op, const Shape& w);

}  // namespace aoe

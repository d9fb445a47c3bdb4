#include "op/nn/convolution.h"

#include "op/families.h"
#include "op/joined.h"
#include "op/math/matmul.h"
#include "op/math/quantization.h"

// The convolutions of ONNX, as tensor expressions. In reading order: the parts that transposed and
// deformable convolutions use too (groups_of, kernel_of, bias_in); `convolution`, the computation
// itself; the definitions of Conv, ConvInteger, QLinearConv and CausalConvWithState; their table.
// Along one spatial axis:
//
//   out[n, m, y] = sum over c, k of x[n, c, y * stride + k * dilation - pad] * w[m, c, k] + bias[m]
//
// With groups, m and c become two axes each: the group, and the channel in the group.
//
// Invariant: every index is affine in the axes, so that the sum is recognized as a matrix product
// (policy/contraction.cpp).

namespace aoe {

Shape Groups::split(const Shape& shape, size_t channel_axis) const {
  if (count == 1) return shape;
  Shape result = shape;
  result[channel_axis] /= count;
  result.insert(result.begin() + static_cast<int64_t>(channel_axis), count);
  return result;
}

Groups groups_of(const OpContext& op, int64_t input_channels, int64_t output_channels) {
  const int64_t count = op.integer("group", 1);
  require(count >= 1 && input_channels % count == 0 && output_channels % count == 0,
          "{} input and {} output channels cannot be divided into {} groups", input_channels,
          output_channels, count);
  return {count, input_channels / count, output_channels / count};
}

Shape kernel_of(const OpContext& op, const Shape& w) {
  const Shape kernel = spatial_extents(w);
  const Shape stated = op.integers("kernel_shape", kernel);
  require(stated == kernel, "kernel_shape is {} but the weights have shape {}", to_string(stated),
          to_string(w));
  return kernel;
}

std::optional<Operand> bias_in(OpContext& op, int index, int64_t channels) {
  if (!op.has(index)) return std::nullopt;
  Operand bias = op.in(index);
  require(bias.shape == Shape{channels}, "the bias has shape {}, not [{}]", to_string(bias.shape),
          channels);
  return bias;
}

Operand convolution(Builder& b, const Operand& x, const Operand& w,
                    const std::optional<Operand>& bias, const Window& window,
                    const Groups& groups) {
  const Operand image = b.reshape(x, groups.split(x.shape, 1));
  const Operand filter = b.reshape(w, groups.split(w.shape, 0));
  const size_t channel = groups.count == 1 ? 1 : 2;  // axis of the output channel
  Shape shape{x.shape[0], groups.outputs};
  if (groups.count > 1) shape.insert(shape.begin() + 1, groups.count);
  const auto group_and = [&](const Axes& out, const Expr& last) {
    Axes index(out.begin() + 1, out.begin() + static_cast<int64_t>(channel));
    index.push_back(last);
    return index;
  };

  std::optional<Operand> offset;
  if (bias) offset = b.reshape(*bias, groups.split(bias->shape, 0));
  const Operand y = contraction(
      b, x.dtype, joined(shape, window.output), joined(Shape{groups.inputs}, window.kernel),
      [&](const Axes& out, const Axes& in) {
        const Axes at_x =
            joined(joined(Axes{out[0]}, group_and(out, in[0])),
                   window.positions(std::span(out).subspan(channel + 1), std::span(in).subspan(1)));
        const Axes at_w = joined(group_and(out, out[channel]), in);
        return product(window.load(image, at_x, Expr::integer(x.dtype, 0)), filter(at_w));
      },
      [&](const Axes& out, const Expr& sum) {
        if (!offset) return sum;
        return sum + cast(sum.dtype(), (*offset)(group_and(out, out[channel])));
      });
  return b.reshape(y, joined(Shape{x.shape[0], w.shape[0]}, window.output));
}

namespace {

struct Setting {
  Window window;
  Groups groups;
};

Setting setting_of(const OpContext& op, const Shape& x, const Shape& w) {
  const Window window = window_of(op, x, kernel_of(op, w));
  const Groups groups = groups_of(op, x[1], w[0]);
  require(groups.inputs == w[1], "{} input channels in {} groups meet weights of shape {}", x[1],
          groups.count, to_string(w));
  return {window, groups};
}

void conv(OpContext& op) {
  const Operand x = op.in(0);
  const Operand w = op.in(1);
  const auto [window, groups] = setting_of(op, x.shape, w.shape);
  op.out(convolution(op, x, w, bias_in(op, 2, w.shape[0]), window, groups));
}

// Reshapes a parameter, one per output channel or one for all, so that it broadcasts along `axis`
// of a tensor of rank `rank`.
Operand per_channel(Builder& b, const Operand& parameter, int64_t channels, size_t axis,
                    size_t rank) {
  const int64_t count = element_count(parameter.shape);
  require(count == 1 || parameter.shape == Shape{channels},
          "a scale or zero point has shape {} for {} channels", to_string(parameter.shape),
          channels);
  Shape shape(rank, 1);
  shape[axis] = count;
  return b.reshape(parameter, shape);
}

void conv_integer(OpContext& op) {
  const Operand x = op.in(0);
  const Operand w = op.in(1);
  const auto [window, groups] = setting_of(op, x.shape, w.shape);
  const size_t rank = x.shape.size();
  // Padding has the value 0 after centering, so zero points are subtracted before the window is
  // applied.
  const Operand image =
      op.has(2) ? centered(op, x, per_channel(op, op.in(2), 1, 1, rank)) : centered(op, x);
  const Operand filter =
      op.has(3) ? centered(op, w, per_channel(op, op.in(3), w.shape[0], 0, rank)) : centered(op, w);
  op.out(convolution(op, image, filter, std::nullopt, window, groups));
}

void qlinear_conv(OpContext& op) {
  const Operand x = op.in(0);
  const Operand w = op.in(3);
  const int64_t channels = op.rank(3) > 0 ? w.shape[0] : 0;
  const auto [window, groups] = setting_of(op, x.shape, w.shape);
  const size_t rank = x.shape.size();
  const auto one = [&](int input) { return per_channel(op, op.in(input), 1, 1, rank); };
  const Operand sum = convolution(op, centered(op, x, one(2)),
                                  centered(op, w, per_channel(op, op.in(5), channels, 0, rank)),
                                  bias_in(op, 8, channels), window, groups);
  op.out(
      op.map({sum, one(1), per_channel(op, op.in(4), channels, 1, rank), one(6), one(7)},
             [](const std::vector<Expr>& e) { return requantized(e[0], e[1], e[2], e[3], e[4]); }));
}

// A depthwise causal 1-D convolution: each output depends on the current and the kernel - 1
// previous elements. Before the first element these come from past_state.
void causal_conv_with_state(OpContext& op) {
  const Operand x = op.in(0);
  const Operand w = op.in(1);
  require(x.rank() == 3 && w.rank() == 3 && w.shape[1] == 1 && w.shape[0] == x.shape[1] &&
              w.shape[2] >= 1,
          "an input of shape {} and weights of shape {}; [batch, channels, length] and "
          "[channels, 1, kernel] are expected",
          to_string(x.shape), to_string(w.shape));
  const std::string activation = op.text("activation", "none");
  require(activation == "none" || activation == "silu" || activation == "swish",
          "activation is '{}'; none, silu or swish are expected", activation);
  const auto bias = bias_in(op, 2, x.shape[1]);
  const int64_t kernel = w.shape[2];
  const int64_t before = kernel - 1;
  const Expr zero = Expr::integer(x.dtype, 0);

  // The sequence: state (or zeros), then input.
  const Shape state{x.shape[0], x.shape[1], before};
  const Shape whole{x.shape[0], x.shape[1], checked_add(before, x.shape[2])};
  std::optional<Operand> past;
  if (op.has(3)) {
    past = op.in(3);
    require(past->shape == state, "past_state has shape {}, not {}", to_string(past->shape),
            to_string(state));
  }
  const Operand sequence = op.compute(whole, [&](const Axes& i) {
    const Expr now = x.or_outside({i[0], i[1], i[2] - before}, zero);
    return past ? select(lt(i[2], before), past->or_outside(i, zero), now) : now;
  });

  op.out(contraction(
      op, x.dtype, x.shape, {kernel},
      [&](const Axes& out, const Axes& in) {
        return product(sequence({out[0], out[1], out[2] + in[0]}),
                       w({out[1], Expr::integer(DType::i64, 0), in[0]}));
      },
      [&](const Axes& out, const Expr& sum) {
        Expr e = bias ? sum + cast(sum.dtype(), (*bias)({out[1]})) : sum;
        if (activation == "none") return e;
        // ONNX applies the activation to the result rounded to the element type.
        const Expr rounded = cast(sum.dtype(), cast(x.dtype, e));
        return rounded * sigmoid(rounded);
      }));
  op.out(
      op.compute(state, [&](const Axes& i) { return sequence({i[0], i[1], i[2] + x.shape[2]}); }));
}

}  // namespace

const OpTable& convolution_operators() {
  static const OpTable table{
      {"CausalConvWithState", 27, causal_conv_with_state},
      {"Conv", 1, conv},
      {"ConvInteger", 10, conv_integer},
      {"QLinearConv", 10, qlinear_conv},
  };
  return table;
}

}  // namespace aoe

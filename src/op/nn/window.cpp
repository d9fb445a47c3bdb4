#include "op/nn/window.h"

#include <algorithm>

namespace aoe {
namespace {

// Upper bound of strides, dilations, pads and kernel extents; larger ones are rejected as
// nonsensical. Products of two of them fit into int64_t.
constexpr int64_t kLargest = int64_t{1} << 31;

int64_t covered(int64_t kernel, int64_t dilation) {
  return checked_add(checked_mul(kernel - 1, dilation), 1);
}

// auto_pad SAME: ceil(extent / stride) outputs; padding differs by at most one between both ends.
void pad_same(Window& window, size_t axis, bool more_at_end) {
  const int64_t stride = window.strides[axis];
  const int64_t extent = window.input[axis];
  const int64_t output = ceil_div(extent, stride);
  const int64_t needed =
      checked_add(checked_mul(std::max<int64_t>(output - 1, 0), stride), window.span(axis));
  const int64_t total = std::max<int64_t>(needed - extent, 0);
  const int64_t smaller = total / 2;
  window.output[axis] = output;
  window.pads_begin[axis] = more_at_end ? smaller : total - smaller;
  window.pads_end[axis] = more_at_end ? total - smaller : smaller;
}

void count_outputs(Window& window, size_t axis, bool ceil_mode) {
  const int64_t stride = window.strides[axis];
  const int64_t from_begin = checked_add(window.input[axis], window.pads_begin[axis]);
  const int64_t padded = checked_add(from_begin, window.pads_end[axis]);
  const int64_t free = padded - window.span(axis);
  int64_t output = (ceil_mode ? ceil_div(free, stride) : floor_div(free, stride)) + 1;
  // A window that begins in the padding at the end is dropped: it covers no input.
  if (ceil_mode && checked_mul(output - 1, stride) >= from_begin) --output;
  require(output > 0, "a kernel that covers {} does not fit into the padded extent {} of axis {}",
          window.span(axis), padded, axis + 2);
  window.output[axis] = output;
}

}  // namespace

int64_t Window::span(size_t axis) const { return covered(kernel[axis], dilations[axis]); }

Expr Window::position(size_t axis, const Expr& o, const Expr& k) const {
  // Leaves out terms that are always zero.
  const Expr zero = Expr::integer(DType::i64, 0);
  const Expr start = output[axis] > 1 ? o * strides[axis] : zero;
  return (kernel[axis] > 1 ? start + k * dilations[axis] : start) - pads_begin[axis];
}

Axes Window::positions(std::span<const Expr> out, std::span<const Expr> in) const {
  Axes index;
  for (size_t i = 0; i < rank(); ++i) index.push_back(position(i, out[i], in[i]));
  return index;
}

Window Window::without_padding_only_taps() const {
  Window result = *this;
  for (size_t i = 0; i < rank(); ++i) {
    const int64_t last_start = std::max<int64_t>(output[i] - 1, 0) * strides[i];
    const int64_t first = std::max<int64_t>(ceil_div(pads_begin[i] - last_start, dilations[i]), 0);
    const int64_t end =
        std::min(floor_div(input[i] - 1 + pads_begin[i], dilations[i]) + 1, kernel[i]);
    result.kernel[i] = std::max<int64_t>(end - first, 0);
    result.pads_begin[i] -= first * dilations[i];
  }
  return result;
}

bool Window::reaches_outside() const {
  for (size_t i = 0; i < rank(); ++i) {
    const int64_t last = (output[i] - 1) * strides[i] + span(i) - pads_begin[i];
    if (pads_begin[i] > 0 || last > input[i]) return true;
  }
  return false;
}

Shape spatial_extents(const Shape& x) {
  require(x.size() >= 3, "the input has shape {}; batch, channel and spatial axes are expected",
          to_string(x));
  return {x.begin() + 2, x.end()};
}

Shape spatial_attribute(const OpContext& op, std::string_view name, size_t count, int64_t otherwise,
                        int64_t least) {
  Shape values = op.integers(name, Shape(count, otherwise));
  require(values.size() == count, "{} has {} numbers where {} are expected", name, values.size(),
          count);
  for (const int64_t value : values) {
    if (value < least) fail("{} {} has a number below {}", name, to_string(values), least);
    if (value > kLargest) fail("{} {} has a number above {}", name, to_string(values), kLargest);
  }
  return values;
}

AutoPad auto_pad_of(const OpContext& op) {
  const std::string name = op.text("auto_pad", "NOTSET");
  if (name == "NOTSET") return AutoPad::explicit_pads;
  if (name == "SAME_UPPER") return AutoPad::same_upper;
  if (name == "SAME_LOWER") return AutoPad::same_lower;
  if (name == "VALID") return AutoPad::valid;
  fail("auto_pad is '{}'; NOTSET, SAME_UPPER, SAME_LOWER or VALID are expected", name);
}

Window window_of(const OpContext& op, const Shape& x, Shape kernel, bool ceil_mode) {
  Window window;
  window.input = spatial_extents(x);
  const size_t rank = window.input.size();
  require(kernel.size() == rank, "the kernel has shape {} for an input of shape {}",
          to_string(kernel), to_string(x));
  for (const int64_t extent : kernel) {
    require(extent > 0 && extent <= kLargest,
            "the kernel's shape {} has an extent below 1 or above {}", to_string(kernel), kLargest);
  }
  element_count(x);  // fails for negative or overflowing extents
  window.kernel = std::move(kernel);
  window.strides = spatial_attribute(op, "strides", rank, 1, 1);
  window.dilations = spatial_attribute(op, "dilations", rank, 1, 1);
  window.pads_begin.resize(rank);
  window.pads_end.resize(rank);
  window.output.resize(rank);
  const AutoPad auto_pad = auto_pad_of(op);
  if (auto_pad == AutoPad::explicit_pads) {
    const Shape pads = spatial_attribute(op, "pads", 2 * rank, 0, 0);
    std::copy_n(pads.begin(), rank, window.pads_begin.begin());
    std::copy_n(pads.begin() + static_cast<int64_t>(rank), rank, window.pads_end.begin());
  }
  for (size_t i = 0; i < rank; ++i) {
    if (auto_pad == AutoPad::same_upper || auto_pad == AutoPad::same_lower) {
      pad_same(window, i, auto_pad == AutoPad::same_upper);
    } else {
      count_outputs(window, i, ceil_mode && auto_pad == AutoPad::explicit_pads);
    }
  }
  return window;
}

}  // namespace aoe

#include "op/math/signal.h"

#include <cmath>

#include "op/families.h"
#include "op/operands.h"

namespace aoe {
namespace {

// For m in [0, length): the 2 x 2 rotation matrix [[cos, -sin], [sin, cos]] of (real, imaginary) by
// m / length of a turn, clockwise unless `inverse`.
Operand rotations(Builder& b, const Fourier& how, DType dtype) {
  return b.compute({how.length, 2, 2}, [&](const Axes& point) {
    const double turn = 2 * M_PI / static_cast<double>(how.length) * (how.inverse ? 1 : -1);
    const Expr angle = cast(DType::f64, point[0]) * turn;
    const Expr sine = select(lt(point[1], point[2]), -sin(angle), sin(angle));
    return cast(dtype, select(eq(point[1], point[2]), cos(angle), sine));
  });
}

// Fails unless the last axis holds real (1) or complex (2) numbers.
void require_signal(const Operand& x) {
  require(x.rank() >= 2 && (x.shape.back() == 1 || x.shape.back() == 2),
          "{} where the last axis must hold 1 (real) or 2 (complex) numbers", to_string(x.shape));
  require(is_float(x.dtype), "a signal of {}, not of floats", name(x.dtype));
}

}  // namespace

Operand fourier(Builder& b, const Operand& x, const Fourier& how) {
  const auto axis = static_cast<size_t>(how.axis);
  require(how.length >= 1, "a transform of {} points", how.length);
  const DType dtype = wide_type(x.dtype);
  const Operand turned = rotations(b, how, dtype);
  const int64_t half = how.length / 2 + 1;
  const bool real_result = how.onesided && how.inverse;
  Shape shape = x.shape;
  shape[axis] = how.onesided && !how.inverse ? half : how.length;
  shape.back() = real_result ? 1 : 2;
  const int64_t used = std::min(x.shape[axis], real_result ? half : how.length);
  const Operand sums =
      b.reduce(sum_of(dtype), std::move(shape), {used, x.shape.back()},
               [&](const Axes& out, const Axes& in) {
                 Axes index = out;
                 index[axis] = in[0];
                 index.back() = in[1];
                 Expr sample = cast(dtype, x(std::move(index)));
                 if (real_result) {
                   // The other half of the spectrum is the conjugate: all but the zero frequency
                   // and the Nyquist frequency count twice.
                   const Expr alone = eq(in[0], 0) | eq(in[0] * 2, how.length);
                   sample = select(alone, sample, sample * 2);
                 }
                 return sample * turned({mod(out[axis] * in[0], how.length), out.back(), in[1]});
               });
  return b.map(sums, [&](const Expr& sum) {
    return cast(x.dtype, how.inverse ? sum / static_cast<double>(how.length) : sum);
  });
}

namespace {

void dft(OpContext& op) {
  const Operand x = op.in(0);
  require_signal(x);
  Fourier how;
  how.inverse = op.flag("inverse", false);
  how.onesided = op.flag("onesided", false);
  int64_t axis = op.opset() < 20 ? op.integer("axis", 1) : -2;
  if (op.opset() >= 20 && op.has(2)) axis = op.integer_in(2);
  how.axis = normalize_axis(axis, x.rank());
  require(how.axis < x.rank() - 1, "axis {} is the one of real and imaginary parts", axis);
  require(!how.onesided || x.shape.back() == (how.inverse ? 2 : 1),
          "a onesided transform {} real numbers, and this input has {} for each point",
          how.inverse ? "gives" : "takes", x.shape.back());
  const int64_t extent = x.extent(how.axis);
  how.length = how.onesided && how.inverse ? 2 * (extent - 1) : extent;
  if (op.has(1)) how.length = op.integer_in(1);
  op.out(fourier(op, x, how));
}

void stft(OpContext& op) {
  Operand signal = op.in(0);
  if (signal.rank() == 2) signal = op.reshape(signal, {signal.shape[0], signal.shape[1], 1});
  require_signal(signal);
  require(signal.rank() == 3, "a signal {} where [batch, length, 1 or 2] is expected",
          to_string(signal.shape));
  const int64_t step = op.integer_in(1);
  int64_t length = signal.shape[1];
  if (op.has(2)) length = element_count(op.shape(2));
  if (op.has(3)) length = op.integer_in(3);
  require(step >= 1 && length >= 1 && length <= signal.shape[1],
          "frames of {} every {} of a signal of {}", length, step, signal.shape[1]);
  require(!op.has(2) || op.shape(2) == Shape{length}, "a window {} for frames of {}",
          op.has(2) ? to_string(op.shape(2)) : "", length);
  const int64_t frames = (signal.shape[1] - length) / step + 1;
  const Operand framed =
      op.compute({signal.shape[0], frames, length, signal.shape[2]}, [&](const Axes& at) {
        const Expr sample = signal({at[0], at[1] * step + at[2], at[3]});
        return op.has(2) ? sample * op.in(2)({at[2]}) : sample;
      });
  op.out(fourier(
      op, framed,
      {.axis = 2, .length = length, .inverse = false, .onesided = op.flag("onesided", true)}));
}

// The window a0 - a1 cos(x) + a2 cos(2x), over one period.
void window(OpContext& op, double a0, double a1, double a2) {
  const int64_t size = op.integer_in(0);
  const DType dtype = dtype_attr(op, "output_datatype", DType::f32);
  require(size >= 0, "a window of size {}", size);
  const int64_t period = op.flag("periodic", true) ? size : std::max<int64_t>(size - 1, 1);
  op.out(op.compute({size}, [&](const Axes& at) {
    const Expr angle = cast(DType::f64, at[0]) * (2 * M_PI / static_cast<double>(period));
    Expr value = a0 - cos(angle) * a1;
    if (a2 != 0) value = value + cos(angle * 2) * a2;
    return cast(dtype, value);
  }));
}

void hann_window(OpContext& op) { window(op, 0.5, 0.5, 0); }
void hamming_window(OpContext& op) { window(op, 25.0 / 46, 21.0 / 46, 0); }
void blackman_window(OpContext& op) { window(op, 0.42, 0.5, 0.08); }

void mel_weight_matrix(OpContext& op) {
  const int64_t bands = op.integer_in(0);
  const int64_t length = op.integer_in(1);
  const DType dtype = dtype_attr(op, "output_datatype", DType::f32);
  require(bands >= 0 && length >= 0, "{} bands of a transform of {} points", bands, length);
  const auto number = [&](int input) { return cast(DType::f64, scalar_in(op, input)({})); };
  // Conversions between hertz and the mel scale.
  const auto mel = [](const Expr& hertz) { return log(hertz / 700 + 1) * (2595 / M_LN10); };
  const auto hertz = [](const Expr& of_mel) { return (exp(of_mel * (M_LN10 / 2595)) - 1) * 700; };
  // Band i is a triangle over the edges i, i + 1 and i + 2.
  const Operand edges = op.compute({checked_add(bands, 2)}, [&](const Axes& at) {
    const Expr low = mel(number(3));
    const Expr each = (mel(number(4)) - low) / static_cast<double>(bands + 2);
    const Expr frequency = hertz(cast(DType::f64, at[0]) * each + low);
    return cast(DType::i64, floor(frequency * static_cast<double>(length + 1) / number(2)));
  });
  op.out(op.compute({length / 2 + 1, bands}, [&](const Axes& at) {
    const Expr& bin = at[0];
    const Expr left = edges({at[1]});
    const Expr peak = edges({at[1] + 1});
    const Expr right = edges({at[1] + 2});
    const auto ratio = [](const Expr& a, const Expr& b) {
      return cast(DType::f64, a) / cast(DType::f64, b);
    };
    const Expr one = Expr::constant(DType::f64, 1);
    const Expr zero = Expr::constant(DType::f64, 0);
    const Expr rising = select(eq(left, peak), one, ratio(bin - left, peak - left));
    const Expr below = select(le(left, bin) & le(bin, peak), rising, zero);
    const Expr falling = le(peak, bin) & lt(bin, right);
    return cast(dtype, select(falling, ratio(right - bin, right - peak), below));
  }));
}

}  // namespace

const OpTable& signal_operators() {
  static const OpTable table{
      {"BlackmanWindow", 17, blackman_window},    {"DFT", 17, dft},
      {"HammingWindow", 17, hamming_window},      {"HannWindow", 17, hann_window},
      {"MelWeightMatrix", 17, mel_weight_matrix}, {"STFT", 17, stft},
  };
  return table;
}

}  // namespace aoe

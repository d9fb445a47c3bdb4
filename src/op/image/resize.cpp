#include <algorithm>
#include <cmath>

#include "op/context.h"
#include "op/families.h"
#include "op/image/interpolation.h"

namespace aoe {
namespace {

// Resize and Upsample. Axes are resized one after the other, so that an interpolation over n axes
// is n reductions over a few taps each. In reading order: coordinates (`origin`, `nearest`),
// nearest mode (`repeated`, `resized_nearest`), linear and cubic (`taps_of`, `interpolated`), the
// loop over axes (`resized`), the operators' attributes. Positions and weights are computed in f64;
// elements are interpolated in f32 or f64.

// Parameters of the resizing of one axis.
struct ResizedAxis {
  int64_t axis;
  int64_t input;
  int64_t output;
  double scale;
  double roi_begin = 0;
  double roi_end = 1;

  // Extent of the output before rounding down.
  double exact_output() const { return scale * static_cast<double>(input); }
};

// Parameters that all axes share.
struct Style {
  std::string coordinates;  // coordinate_transformation_mode
  std::string mode;
  std::string nearest_mode;
  double cubic_a;
  double extrapolation;
  bool exclude_outside;
  bool antialias;
};

constexpr std::string_view kCrop = "tf_crop_and_resize";

// Position on the input axis that an element of the output corresponds to.
Expr origin(const Style& style, const ResizedAxis& r, const Expr& position) {
  const Expr x = cast(DType::f64, position);
  const double input = static_cast<double>(r.input);
  const double exact = r.exact_output();
  const std::string& how = style.coordinates;
  if (how == "asymmetric") return x / r.scale;
  if (how == "tf_half_pixel_for_nn") return (x + 0.5) / r.scale;
  if (how == "half_pixel") return (x + 0.5) / r.scale - 0.5;
  if (how == "pytorch_half_pixel") {
    return r.output > 1 ? (x + 0.5) / r.scale - 0.5 : number_like(x, 0);
  }
  if (how == "half_pixel_symmetric") {
    const double adjustment = static_cast<double>(r.output) / exact;
    return (x + 0.5) / r.scale - 0.5 + input / 2 * (1 - adjustment);
  }
  if (how == "align_corners") {
    return r.output > 1 ? x * (input - 1) / (exact - 1) : number_like(x, 0);
  }
  if (how == kCrop) {
    const double begin = r.roi_begin * (input - 1);
    const double extent = (r.roi_end - r.roi_begin) * (input - 1);
    if (r.output <= 1) return number_like(x, begin + 0.5 * extent);
    return x * extent / (r.output - 1) + begin;
  }
  fail("coordinate_transformation_mode is '{}', which is not known", how);
}

// Returns the index of the input element for an origin, by nearest_mode.
Expr nearest(const Style& style, const ResizedAxis& r, const Expr& at) {
  const std::string& how = style.nearest_mode;
  if (how == "round_prefer_floor") return cast(DType::i64, ceil(at - 0.5));
  if (how == "round_prefer_ceil") return cast(DType::i64, floor(at + 0.5));
  if (how == "floor") return cast(DType::i64, floor(at));
  if (how == "ceil") return cast(DType::i64, ceil(at));
  // Rounding of Resize in opset 10: down if the axis grows, up if it shrinks.
  if (how == "simple") return cast(DType::i64, r.scale < 1 ? ceil(at) : floor(at));
  fail("nearest_mode is '{}'; round_prefer_floor, round_prefer_ceil, floor or ceil are expected",
       how);
}

Shape with_extent(Shape shape, int64_t axis, int64_t extent) {
  shape[static_cast<size_t>(axis)] = extent;
  return shape;
}

Axes with_index(Axes axes, int64_t axis, const Expr& index) {
  axes[static_cast<size_t>(axis)] = index;
  return axes;
}

Expr within(const Expr& index, int64_t extent) {
  return clamp(index, number_like(index, 0), number_like(index, extent - 1));
}

// In tf_crop_and_resize, returns extrapolation_value if `at` is outside the input; otherwise
// `value`.
Expr or_extrapolated(const Style& style, const ResizedAxis& r, const Expr& at, const Expr& value) {
  if (style.coordinates != kCrop) return value;
  const Expr outside = lt(at, 0) | lt(static_cast<double>(r.input - 1), at);
  return select(outside, number_like(value, style.extrapolation), value);
}

// Upsampling by an integer factor: each element is repeated. The axis is split in two, so that the
// index stays affine.
std::optional<Operand> repeated(Builder& b, const Operand& x, const Style& style,
                                const ResizedAxis& r) {
  const bool below = style.coordinates == "asymmetric" &&
                     (style.nearest_mode == "floor" || style.nearest_mode == "simple");
  const bool around =
      style.coordinates == "half_pixel" && style.nearest_mode.starts_with("round_prefer");
  const int64_t times = r.output / r.input;
  if (!(below || around) || times < 1 || r.scale != static_cast<double>(times) ||
      times * r.input != r.output) {
    return std::nullopt;
  }
  Shape shape = x.shape;
  shape.insert(shape.begin() + r.axis + 1, times);
  const Operand split = b.compute(shape, [&](const Axes& out) {
    Axes index = out;
    index.erase(index.begin() + r.axis + 1);
    return x(index);
  });
  return b.reshape(split, with_extent(x.shape, r.axis, r.output));
}

Operand resized_nearest(Builder& b, const Operand& x, const Style& style, const ResizedAxis& r) {
  if (const auto simple = repeated(b, x, style, r)) return *simple;
  // Indexes are computed once per position of the axis, not once per element.
  const Operand indexes = b.compute({r.output}, [&](const Axes& out) {
    return within(nearest(style, r, origin(style, r, out[0])), r.input);
  });
  return b.compute(with_extent(x.shape, r.axis, r.output), [&](const Axes& out) {
    const Expr& along = out[static_cast<size_t>(r.axis)];
    return or_extrapolated(style, r, origin(style, r, along),
                           x(with_index(out, r.axis, indexes({along}))));
  });
}

// Taps of each position of the output axis: index [output, taps] and weight [output, taps].
struct Taps {
  Operand index;
  Operand weight;
};

Taps taps_of(Builder& b, const Style& style, const ResizedAxis& r, DType type) {
  Interpolation how =
      style.mode == "cubic" ? cubic_interpolation(style.cubic_a) : linear_interpolation();
  // When shrinking, an antialiasing filter is stretched by 1 / scale.
  const double stretch = style.antialias ? std::min(r.scale, 1.0) : 1.0;
  if (stretch < 1) {
    const int64_t half = how.taps / 2;
    const double support = static_cast<double>(half);
    how.lead = -static_cast<int64_t>(std::floor(-support / stretch) + 1);
    how.taps = checked_add(2, checked_mul(2, how.lead));
  }
  const auto weigh = [&](const Axes& out) {
    const Expr at = origin(style, r, out[0]);
    const Expr below = floor(at);
    const Expr step = out[1] - how.lead;
    const Expr index = cast(DType::i64, below) + step;
    Expr weight = how.weight((at - below - cast(DType::f64, step)) * stretch);
    if (style.exclude_outside) {
      const Expr inside = le(0, index) & lt(index, r.input);
      weight = select(inside, weight, number_like(weight, 0));
    }
    return std::vector{within(index, r.input), weight};
  };
  const std::vector<Operand> raw = b.compute_all({r.output, how.taps}, weigh);
  if (stretch == 1 && !style.exclude_outside) return {raw[0], b.cast_to(raw[1], type)};
  const Operand total =
      b.reduce(sum_of(DType::f64), {r.output}, {how.taps},
               [&](const Axes& out, const Axes& in) { return raw[1]({out[0], in[0]}); });
  const Operand weight = b.compute({r.output, how.taps}, [&](const Axes& out) {
    const Expr sum = total({out[0]});
    return cast(type, raw[1](out) / select(eq(sum, 0), number_like(sum, 1), sum));
  });
  return {raw[0], weight};
}

Operand interpolated(Builder& b, const Operand& x, const Style& style, const ResizedAxis& r) {
  const Taps taps = taps_of(b, style, r, x.dtype);
  return b.reduce_all(
      sum_of(x.dtype), with_extent(x.shape, r.axis, r.output), {taps.index.shape[1]},
      [&](const Axes& out, const Axes& in) {
        const Expr& along = out[static_cast<size_t>(r.axis)];
        return std::vector{x(with_index(out, r.axis, taps.index({along, in[0]}))) *
                           taps.weight({along, in[0]})};
      },
      [&](const Axes& out, const std::vector<Expr>& sum) {
        const Expr at = origin(style, r, out[static_cast<size_t>(r.axis)]);
        return std::vector{or_extrapolated(style, r, at, sum[0])};
      })[0];
}

// Resizes one axis after the other. Interpolation of integers uses a float type that represents
// them.
Operand resized(Builder& b, const Operand& x, const Style& style,
                const std::vector<ResizedAxis>& axes) {
  Operand result = x;
  const bool is_nearest = style.mode == "nearest";
  require(is_nearest || style.mode == "linear" || style.mode == "cubic",
          "mode is '{}'; nearest, linear or cubic are expected", style.mode);
  const bool wide = x.dtype == DType::f64 || (is_int(x.dtype) && info(x.dtype).bytes >= 4);
  if (!is_nearest) result = b.cast_to(result, wide ? DType::f64 : DType::f32);
  for (const ResizedAxis& r : axes) {
    const bool cropped = style.coordinates == kCrop && (r.roi_begin != 0 || r.roi_end != 1);
    if (r.input == r.output && r.scale == 1 && !cropped) continue;
    if (r.output == 0) {
      result = b.compute(with_extent(result.shape, r.axis, 0),
                         [&](const Axes&) { return Expr::integer(result.dtype, 0); });
      continue;
    }
    require(r.input > 0, "axis {} of {} has no elements to make {} of", r.axis, to_string(x.shape),
            r.output);
    result = is_nearest ? resized_nearest(b, result, style, r) : interpolated(b, result, style, r);
  }
  if (result.dtype == x.dtype) return result;
  return b.map(result, [&](const Expr& e) {
    if (is_float(x.dtype)) return cast(x.dtype, e);
    return cast(x.dtype, clamp(round(e), cast(e.dtype(), lowest(x.dtype)),
                               cast(e.dtype(), highest(x.dtype))));
  });
}

ResizedAxis scaled_axis(const Shape& shape, int64_t axis, double scale) {
  require(std::isfinite(scale) && scale > 0,
          "the scale of axis {1} is {0}; a positive number is expected", scale, axis);
  const int64_t input = shape[static_cast<size_t>(axis)];
  // In f32, as exporters compute shapes: 10 elements times 0.7f are 7.
  const float output = std::floor(static_cast<float>(input) * static_cast<float>(scale));
  require(output < 0x1p53f, "a scale of {} makes axis {} of {} too long", scale, axis,
          to_string(shape));
  return {axis, input, static_cast<int64_t>(output), scale};
}

std::vector<ResizedAxis> scaled_axes(const Shape& shape, const std::vector<int64_t>& axes,
                                     const std::vector<double>& scales) {
  require(scales.size() == axes.size(), "{} scales for {} axes", scales.size(), axes.size());
  std::vector<ResizedAxis> result;
  for (size_t i = 0; i < axes.size(); ++i) {
    result.push_back(scaled_axis(shape, axes[i], scales[i]));
  }
  return result;
}

std::vector<ResizedAxis> sized_axes(const OpContext& op, const std::vector<int64_t>& axes,
                                    const std::vector<int64_t>& sizes) {
  const Shape& shape = op.shape(0);
  require(sizes.size() == axes.size(), "{} sizes for {} axes", sizes.size(), axes.size());
  std::vector<ResizedAxis> result;
  for (size_t i = 0; i < axes.size(); ++i) {
    const int64_t input = shape[static_cast<size_t>(axes[i])];
    require(sizes[i] >= 0, "sizes {} has a negative extent", to_string(sizes));
    const double scale =
        input == 0 ? 1 : static_cast<double>(sizes[i]) / static_cast<double>(input);
    result.push_back({axes[i], input, sizes[i], scale});
  }
  const std::string policy = op.text("keep_aspect_ratio_policy", "stretch");
  if (policy == "stretch" || result.empty()) return result;
  require(policy == "not_larger" || policy == "not_smaller",
          "keep_aspect_ratio_policy is '{}'; stretch, not_larger or not_smaller are expected",
          policy);
  double scale = result[0].scale;
  for (const ResizedAxis& r : result) {
    scale = policy == "not_larger" ? std::min(scale, r.scale) : std::max(scale, r.scale);
  }
  for (ResizedAxis& r : result) {
    r.scale = scale;
    r.output = static_cast<int64_t>(std::floor(scale * static_cast<double>(r.input) + 0.5));
  }
  return result;
}

std::vector<int64_t> all_axes(const Shape& shape) {
  std::vector<int64_t> axes(shape.size());
  for (size_t i = 0; i < axes.size(); ++i) axes[i] = static_cast<int64_t>(i);
  return axes;
}

// The nearest mode only moves elements, so these may be strings.
Operand moved_or_computed(OpContext& op) {
  return op.text("mode", "nearest") == "nearest" ? op.movable(0) : op.in(0);
}

// Up to opset 10, coordinates are always asymmetric (output position divided by scale).
void resize_by_scales(OpContext& op, const std::vector<double>& scales, std::string nearest_mode) {
  const Operand x = moved_or_computed(op);
  std::string mode = op.text("mode", "nearest");
  if (mode == "bilinear") mode = "linear";
  const Style style{"asymmetric", mode, std::move(nearest_mode), 0, 0, false, false};
  op.out(resized(op, x, style, scaled_axes(x.shape, all_axes(x.shape), scales)));
}

void upsample(OpContext& op) {
  resize_by_scales(op, op.has(1) ? op.tensor(1).to_doubles() : op.reals("scales"), "floor");
}

void resize(OpContext& op) {
  if (op.opset() < 11) return resize_by_scales(op, op.tensor(1).to_doubles(), "simple");
  const Operand x = moved_or_computed(op);
  const std::vector<int64_t> axes =
      op.has_attr("axes") ? normalize_axes(op.integers("axes"), x.rank()) : all_axes(x.shape);
  Style style;
  style.coordinates = op.text("coordinate_transformation_mode", "half_pixel");
  style.mode = op.text("mode", "nearest");
  style.nearest_mode = op.text("nearest_mode", "round_prefer_floor");
  style.cubic_a = op.real("cubic_coeff_a", -0.75);
  style.extrapolation = op.real("extrapolation_value", 0);
  style.exclude_outside = op.flag("exclude_outside", false);
  style.antialias = op.flag("antialias", false);

  // An empty tensor means that scales are omitted.
  const bool by_scale = op.has(2) && element_count(op.shape(2)) > 0;
  require(by_scale || op.has(3), "neither scales nor sizes are given");
  std::vector<ResizedAxis> resized_axes =
      by_scale ? scaled_axes(x.shape, axes, op.tensor(2).to_doubles())
               : sized_axes(op, axes, op.ints(3));
  if (style.coordinates == kCrop) {
    const std::vector<double> roi = op.tensor(1).to_doubles();
    require(roi.size() == 2 * axes.size(), "roi has {} numbers for {} axes", roi.size(),
            axes.size());
    for (size_t i = 0; i < axes.size(); ++i) {
      resized_axes[i].roi_begin = roi[i];
      resized_axes[i].roi_end = roi[axes.size() + i];
    }
  }
  op.out(resized(op, x, style, resized_axes));
}

}  // namespace

const OpTable& resize_operators() {
  static const OpTable table{
      {"Resize", 10, resize},
      {"Upsample", 7, upsample},
  };
  return table;
}

}  // namespace aoe

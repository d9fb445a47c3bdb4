#include <algorithm>
#include <cmath>

#include "op/families.h"
#include "op/operands.h"

namespace aoe {
namespace {

// One dimension (height or width) of the regions: start, length of a bin and number of samples per
// bin. All have shape [regions].
struct Side {
  Operand begin;
  Operand bin;
  Operand samples;
};

struct Align {
  bool half_pixel;
  double scale;
  int64_t sampling_ratio;
  DType type;
};

Side side_of(Builder& b, const Operand& rois, const Align& align, int64_t first, int64_t bins) {
  const std::vector<Operand> results = b.compute_all({rois.shape[0]}, [&](const Axes& out) {
    const auto edge = [&](int64_t column) {
      const Expr e = cast(align.type, rois({out[0], Expr::integer(DType::i64, column)}));
      return align.half_pixel ? e * align.scale - 0.5 : e * align.scale;
    };
    const Expr begin = edge(first);
    const Expr extent = edge(first + 2) - begin;
    const Expr bin = (align.half_pixel ? extent : max(extent, 1)) / bins;
    const Expr samples = align.sampling_ratio > 0 ? Expr::integer(DType::i64, align.sampling_ratio)
                                                  : max(cast(DType::i64, ceil(bin)), 0);
    return std::vector{begin, bin, samples};
  });
  return {results[0], results[1], results[2]};
}

// Upper bound of the number of samples per bin and dimension. A larger one comes from a nonsensical
// region or attribute and would run practically forever.
constexpr int64_t kMostSamples = 4096;

// Returns a bound of the samples per bin: from the attribute, otherwise from the regions.
int64_t most_samples(const OpContext& op, const Align& align, int64_t first, int64_t bins) {
  require(align.sampling_ratio <= kMostSamples, "sampling_ratio is {}; {} is the most",
          align.sampling_ratio, kMostSamples);
  if (align.sampling_ratio > 0) return align.sampling_ratio;
  const std::vector<double> rois = op.tensor(1).to_doubles();
  double most = 1;
  for (size_t i = 0; i + 4 <= rois.size(); i += 4) {
    most = std::max(most, std::abs(rois[i + first + 2] - rois[i + first]));
  }
  const double bin = most * std::abs(align.scale) / static_cast<double>(bins);
  require(bin < kMostSamples, "a region as long as {} takes more than {} samples", most,
          kMostSamples);
  return static_cast<int64_t>(std::ceil(bin)) + 1;
}

// A sampling point along one axis: between the elements low and high, or outside.
struct Sample {
  Expr inside;
  Expr low;
  Expr high;
  Expr fraction;  // position between low (0) and high (1)
};

Sample sample_at(const Side& side, const Expr& region, const Expr& bin, const Expr& which,
                 int64_t extent) {
  const Expr length = side.bin({region});
  const Expr count = side.samples({region});
  const Expr at =
      side.begin({region}) + cast(length.dtype(), bin) * length +
      (cast(length.dtype(), which) + 0.5) * length / cast(length.dtype(), max(count, 1));
  const Expr kept = clamp(at, number_like(at, 0), number_like(at, extent - 1));
  const Expr below = floor(kept);
  const Expr low = cast(DType::i64, below);
  return {le(-1, at) & le(at, extent), low, min(low + 1, extent - 1), kept - below};
}

void roi_align(OpContext& op) {
  const Operand x = op.in(0);
  const Operand rois = op.in(1);
  const Operand batch = op.in(2);
  require(x.rank() == 4 && rois.rank() == 2 && rois.shape[1] == 4 &&
              batch.shape == Shape{rois.shape[0]},
          "an input of shape {}, regions of shape {} and batch indices of shape {} do not fit",
          to_string(x.shape), to_string(rois.shape), to_string(batch.shape));
  const int64_t height = op.integer("output_height", 1);
  const int64_t width = op.integer("output_width", 1);
  require(height > 0 && width > 0, "an output of {} x {}", height, width);
  const std::string mode = op.text("mode", "avg");
  require(mode == "avg" || mode == "max", "mode is '{}'; avg or max are expected", mode);
  const std::string shift = op.text("coordinate_transformation_mode",
                                    op.opset() < 16 ? "output_half_pixel" : "half_pixel");
  require(shift == "half_pixel" || shift == "output_half_pixel",
          "coordinate_transformation_mode is '{}'; half_pixel or output_half_pixel are expected",
          shift);
  const bool average = mode == "avg";
  const Align align{shift == "half_pixel", op.real("spatial_scale", 1),
                    op.integer("sampling_ratio", 0), wide_type(x.dtype)};
  const Side down = side_of(op, rois, align, 1, height);
  const Side across = side_of(op, rois, align, 0, width);
  const Shape samples{most_samples(op, align, 1, height), most_samples(op, align, 0, width)};
  const Shape shape{rois.shape[0], x.shape[1], height, width};
  require(element_count(shape) == 0 || element_count(x.shape) > 0, "nothing to sample in {}",
          to_string(x.shape));

  op.out(op.reduce_all(
      average ? sum_of(align.type) : max_of(align.type), shape, samples,
      [&](const Axes& out, const Axes& in) {
        const Sample y = sample_at(down, out[0], out[2], in[0], x.shape[2]);
        const Sample z = sample_at(across, out[0], out[3], in[1], x.shape[3]);
        const auto corner = [&](const Expr& row, const Expr& column, const Expr& weight) {
          const Expr image = cast(DType::i64, batch({out[0]}));
          return weight * cast(align.type, x({image, out[1], row, column}));
        };
        const Expr a = corner(y.low, z.low, (1 - y.fraction) * (1 - z.fraction));
        const Expr b = corner(y.low, z.high, (1 - y.fraction) * z.fraction);
        const Expr c = corner(y.high, z.low, y.fraction * (1 - z.fraction));
        const Expr d = corner(y.high, z.high, y.fraction * z.fraction);
        const Expr zero = Expr::integer(align.type, 0);
        // ONNX defines the maximum over the weighted neighbours, not over interpolated values.
        const Expr value =
            select(y.inside & z.inside, average ? a + b + c + d : max(max(a, b), max(c, d)), zero);
        const Expr taken = lt(in[0], down.samples({out[0]})) & lt(in[1], across.samples({out[0]}));
        return std::vector{select(taken, value, average ? zero : lowest(align.type))};
      },
      [&](const Axes& out, const std::vector<Expr>& reduced) {
        const Expr count = down.samples({out[0]}) * across.samples({out[0]});
        const Expr value = average ? reduced[0] / cast(align.type, max(count, 1))
                                   : select(eq(count, 0), number_like(reduced[0], 0), reduced[0]);
        return std::vector{cast(x.dtype, value)};
      })[0]);
}

struct Pooled {
  int64_t height;
  int64_t width;
  double scale;
};

// Returns the [begin, end) of a bin of a region, clipped to the axis.
std::pair<int64_t, int64_t> bin_of(double first, double last, double scale, int64_t bin,
                                   int64_t bins, int64_t extent) {
  const double begin = std::round(first * scale);
  const double length = std::max(std::round(last * scale) - begin + 1, 1.0);
  const double size = length / static_cast<double>(bins);
  const auto clipped = [&](double at) {
    const double kept = std::clamp(at + begin, 0.0, static_cast<double>(extent));
    return std::isnan(kept) ? 0 : static_cast<int64_t>(kept);
  };
  return {clipped(std::floor(static_cast<double>(bin) * size)),
          clipped(std::ceil(static_cast<double>(bin + 1) * size))};
}

// A host kernel: the bounds of the bins are computed from the contents of `rois`.
Tensor max_pooled(const Tensor& x, const Tensor& rois, const Pooled& pooled) {
  const Shape& extents = x.shape();
  const std::vector<double> elements = x.to_doubles();
  const std::vector<double> regions = rois.to_doubles();
  Tensor y(x.dtype(), {rois.shape()[0], extents[1], pooled.height, pooled.width});
  std::vector<double> results(static_cast<size_t>(y.count()));
  size_t next = 0;
  for (int64_t r = 0; r < rois.shape()[0]; ++r) {
    const double* region = &regions[static_cast<size_t>(r * 5)];
    require(region[0] >= 0 && region[0] < static_cast<double>(extents[0]),
            "region {} is of image {} in a batch of {}", r, region[0], extents[0]);
    const auto image = static_cast<int64_t>(region[0]);
    for (int64_t c = 0; c < extents[1]; ++c) {
      const double* plane = elements.data() + (image * extents[1] + c) * extents[2] * extents[3];
      for (int64_t h = 0; h < pooled.height; ++h) {
        const auto [top, bottom] =
            bin_of(region[2], region[4], pooled.scale, h, pooled.height, extents[2]);
        for (int64_t w = 0; w < pooled.width; ++w) {
          const auto [left, right] =
              bin_of(region[1], region[3], pooled.scale, w, pooled.width, extents[3]);
          const bool empty = top >= bottom || left >= right;
          double best = empty ? 0 : plane[top * extents[3] + left];
          for (int64_t i = top; i < bottom; ++i) {
            for (int64_t j = left; j < right; ++j) best = std::max(best, plane[i * extents[3] + j]);
          }
          results[next++] = best;
        }
      }
    }
  }
  dispatch(x.dtype(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    std::transform(results.begin(), results.end(), y.data<T>(),
                   [](double value) { return static_cast<T>(value); });
  });
  return y;
}

void max_roi_pool(OpContext& op) {
  const Shape& x = op.shape(0);
  const Shape& rois = op.shape(1);
  require(
      x.size() == 4 && rois.size() == 2 && rois[1] == 5 && is_float(op.dtype(0)),
      "an input of shape {} and regions of shape {}; [N, C, H, W] and [regions, 5] are expected",
      to_string(x), to_string(rois));
  const Shape shape = op.integers("pooled_shape");
  require(shape.size() == 2 && shape[0] > 0 && shape[1] > 0, "pooled_shape is {}",
          to_string(shape));
  const Pooled pooled{shape[0], shape[1], op.real("spatial_scale", 1)};
  op.host({TensorType{op.dtype(0), {rois[0], x[1], shape[0], shape[1]}}},
          [pooled](const HostCall& call) -> std::vector<Value> {
            return {max_pooled(call.inputs[0].tensor(), call.inputs[1].tensor(), pooled)};
          });
}

}  // namespace

const OpTable& roi_operators() {
  static const OpTable table{
      {"MaxRoiPool", 1, max_roi_pool},
      {"RoiAlign", 10, roi_align},
  };
  return table;
}

}  // namespace aoe

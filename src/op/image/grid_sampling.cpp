#include "op/families.h"
#include "op/image/interpolation.h"
#include "op/joined.h"
#include "op/math/matmul.h"
#include "op/nn/convolution.h"
#include "op/operands.h"

namespace aoe {
namespace {

enum class Beyond : uint8_t { zeros, border, reflection };

Beyond beyond_of(const OpContext& op) {
  const std::string mode = op.text("padding_mode", "zeros");
  if (mode == "zeros") return Beyond::zeros;
  if (mode == "border") return Beyond::border;
  if (mode == "reflection") return Beyond::reflection;
  fail("padding_mode is '{}'; zeros, border or reflection are expected", mode);
}

// Maps grid coordinates in [-1, 1] to positions along an axis of the input.
struct GridAxis {
  int64_t extent;
  bool align_corners;  // -1 and 1 are the centres of the outermost elements, else their outer edges
  Beyond beyond;

  double low() const { return align_corners ? 0 : -0.5; }
  double high() const { return static_cast<double>(extent) + (align_corners ? -1 : -0.5); }

  Expr position(const Expr& place) const {
    if (align_corners) return (place + 1) / 2 * (extent - 1);
    return ((place + 1) * extent - 1) / 2;
  }

  // Moves a position outside the axis back inside, unless the padding mode is zeros.
  Expr pad_position(const Expr& at) const {
    switch (beyond) {
      case Beyond::zeros: return at;
      case Beyond::border:
        return select(lt(at, low()) | lt(high(), at),
                      clamp(at, number_like(at, 0), number_like(at, extent - 1)), at);
      case Beyond::reflection: break;
    }
    const double range = high() - low();
    if (range <= 0) return number_like(at, 0);
    const Expr along = mod(at - low(), 2 * range);
    return low() + min(along, 2 * range - along);
  }

  // The same for the index of an element.
  Expr brought_back_index(const Expr& at) const {
    switch (beyond) {
      case Beyond::zeros: return at;
      case Beyond::border: return clamp(at, number_like(at, 0), number_like(at, extent - 1));
      case Beyond::reflection: break;
    }
    const int64_t period = align_corners ? 2 * (extent - 1) : 2 * extent;
    if (period == 0) return number_like(at, 0);
    const Expr along = mod(at, period);
    return min(along, (align_corners ? period : period - 1) - along);
  }
};

void grid_sample(OpContext& op) {
  const Operand x = op.in(0);
  const Operand grid = op.in(1);
  const Shape spatial = spatial_extents(x.shape);
  const size_t rank = spatial.size();
  require(grid.rank() == x.rank() && grid.shape[0] == x.shape[0] &&
              grid.shape.back() == static_cast<int64_t>(rank),
          "a grid of shape {} for an input of shape {}", to_string(grid.shape), to_string(x.shape));
  const Shape places(grid.shape.begin() + 1, grid.shape.end() - 1);
  const Shape shape = joined(Shape{x.shape[0], x.shape[1]}, places);
  const std::string mode = op.text("mode", "linear");
  const bool nearest = mode == "nearest";
  const bool cubic = mode == "cubic" || mode == "bicubic";
  require(nearest || cubic || mode == "linear" || mode == "bilinear",
          "mode is '{}'; linear, nearest or cubic are expected", mode);
  for (const int64_t extent : spatial) {
    require(extent > 0 || element_count(shape) == 0, "nothing to sample in {}", to_string(x.shape));
  }

  std::vector<GridAxis> axes;
  for (const int64_t extent : spatial) {
    axes.push_back({extent, op.flag("align_corners", false), beyond_of(op)});
  }
  const DType type = wide_type(x.dtype == DType::f64 ? x.dtype : grid.dtype);
  // A grid lists coordinates from the last axis to the first (x, y, z).
  const std::vector<Operand> points =
      op.compute_all(joined(Shape{x.shape[0]}, places), [&](const Axes& at) {
        std::vector<Expr> point;
        for (size_t i = 0; i < rank; ++i) {
          const Expr which = Expr::integer(DType::i64, static_cast<int64_t>(rank - 1 - i));
          const Expr position = axes[i].position(cast(type, grid(joined(at, {which}))));
          point.push_back(nearest ? round(position) : axes[i].pad_position(position));
        }
        return point;
      });
  const auto point_at = [&](const Axes& out) {
    Axes at = out;
    at.erase(at.begin() + 1);
    std::vector<Expr> point;
    for (const Operand& coordinate : points) point.push_back(coordinate(at));
    return point;
  };
  const auto element = [&](const Axes& out, const Axes& index) {
    Axes at{out[0], out[1]};
    for (size_t i = 0; i < rank; ++i) at.push_back(axes[i].brought_back_index(index[i]));
    return x.or_outside(at, Expr::integer(x.dtype, 0));
  };
  if (nearest) {
    return op.out(op.compute(shape, [&](const Axes& out) {
      Axes index;
      for (const Expr& coordinate : point_at(out)) index.push_back(cast(DType::i64, coordinate));
      return element(out, index);
    }));
  }
  const Interpolation how = cubic ? cubic_interpolation(-0.75) : linear_interpolation();
  op.out(op.reduce_all(
      sum_of(type), shape, Shape(rank, how.taps),
      [&](const Axes& out, const Axes& in) {
        const Tap tap = tap_at(how, point_at(out), in);
        return std::vector{tap.weight * cast(type, element(out, tap.index))};
      },
      [&](const Axes&, const std::vector<Expr>& sum) {
        return std::vector{cast(x.dtype, sum[0])};
      })[0]);
}

void affine_grid(OpContext& op) {
  const Operand theta = op.in(0);
  const Shape size = op.ints(1);
  require(size.size() == 4 || size.size() == 5, "size is {}; 4 or 5 numbers are expected",
          to_string(size));
  const auto rank = static_cast<int64_t>(size.size()) - 2;
  require(theta.shape == Shape({size[0], rank, rank + 1}), "theta has shape {} for size {}",
          to_string(theta.shape), to_string(size));
  const bool align_corners = op.flag("align_corners", false);
  const DType type = wide_type(theta.dtype);
  const auto place = [&](const Expr& at, int64_t extent) {
    if (!align_corners) return (cast(type, at * 2 + 1) / extent) - 1;
    // A single element is at the centre.
    if (extent == 1) return Expr::integer(type, 0);
    return cast(type, at * 2) / (extent - 1) - 1;
  };
  Shape shape{size[0]};
  shape.insert(shape.end(), size.begin() + 2, size.end());
  shape.push_back(rank);
  op.out(op.compute(shape, [&](const Axes& out) {
    const auto factor = [&](int64_t column) {
      return cast(type, theta({out[0], out.back(), Expr::integer(DType::i64, column)}));
    };
    Expr sum = factor(rank);
    for (int64_t i = 0; i < rank; ++i) {
      const int64_t axis = rank - 1 - i;  // coordinates are listed x first
      sum = sum + factor(i) * place(out[1 + axis], size[2 + axis]);
    }
    return cast(theta.dtype, sum);
  }));
}

// Two stages: gather the elements at the offset kernel positions (an im2col with interpolation),
// then contract them with the weights.
void deform_conv(OpContext& op) {
  const Operand x = op.in(0);
  const Operand w = op.in(1);
  const Window window = window_of(op, x.shape, kernel_of(op, w.shape));
  const size_t rank = window.rank();
  const int64_t batch = x.shape[0];
  const Groups groups = groups_of(op, x.shape[1], w.shape[0]);
  require(groups.inputs == w.shape[1], "{} input channels in {} groups meet weights of shape {}",
          x.shape[1], groups.count, to_string(w.shape));
  const int64_t parts = op.integer("offset_group", 1);
  require(parts >= 1 && x.shape[1] % parts == 0, "{} channels in {} offset groups", x.shape[1],
          parts);
  const Shape per_kernel = joined(Shape{batch, parts}, window.kernel);
  const Operand offset =
      op.reshape(op.in(2), joined(joined(per_kernel, {static_cast<int64_t>(rank)}), window.output));
  std::optional<Operand> mask;
  if (op.has(4)) mask = op.reshape(op.in(4), joined(per_kernel, window.output));
  const auto bias = bias_in(op, 3, w.shape[0]);

  const DType type = wide_type(x.dtype);
  const Interpolation how = linear_interpolation();
  const int64_t channels = x.shape[1] / parts;
  const Operand image = op.reshape(x, joined(Shape{batch, parts, channels}, window.input));
  const Shape columns = joined(joined(Shape{batch, parts, channels}, window.kernel), window.output);
  // Removes the channel: leaves batch, offset group and the axes of kernel and output.
  const auto without_channel = [](Axes axes) {
    axes.erase(axes.begin() + 2);
    return axes;
  };
  const Operand seen = op.reduce_all(
      sum_of(type), columns, Shape(rank, how.taps),
      [&](const Axes& out, const Axes& in) {
        std::vector<Expr> point;
        for (size_t i = 0; i < rank; ++i) {
          Axes at = without_channel(out);
          at.insert(at.begin() + 2 + static_cast<int64_t>(rank),
                    Expr::integer(DType::i64, static_cast<int64_t>(i)));
          point.push_back(cast(type, window.position(i, out[3 + rank + i], out[3 + i])) +
                          cast(type, offset(at)));
        }
        const Tap tap = tap_at(how, point, in);
        const Axes at = joined(Axes{out[0], out[1], out[2]}, tap.index);
        return std::vector{tap.weight *
                           cast(type, image.or_outside(at, Expr::integer(x.dtype, 0)))};
      },
      [&](const Axes& out, const std::vector<Expr>& sum) {
        return std::vector{mask ? sum[0] * cast(type, (*mask)(without_channel(out))) : sum[0]};
      })[0];

  const Operand filter =
      op.reshape(w, joined(Shape{groups.count, groups.outputs, groups.inputs}, window.kernel));
  const Operand grouped = op.reshape(
      seen,
      joined(joined(Shape{batch, groups.count, groups.inputs}, window.kernel), window.output));
  std::optional<Operand> shift;
  if (bias) shift = op.reshape(*bias, {groups.count, groups.outputs});
  const Operand y = contraction(
      op, x.dtype, joined(Shape{batch, groups.count, groups.outputs}, window.output),
      joined(Shape{groups.inputs}, window.kernel),
      [&](const Axes& out, const Axes& in) {
        const Axes place(out.begin() + 3, out.end());
        return product(grouped(joined(joined(Axes{out[0], out[1]}, in), place)),
                       filter(joined(Axes{out[1], out[2]}, in)));
      },
      [&](const Axes& out, const Expr& sum) {
        return shift ? sum + cast(type, (*shift)({out[1], out[2]})) : sum;
      });
  op.out(op.reshape(y, joined(Shape{batch, w.shape[0]}, window.output)));
}

}  // namespace

const OpTable& sampling_operators() {
  static const OpTable table{
      {"AffineGrid", 20, affine_grid},
      {"DeformConv", 19, deform_conv},
      {"GridSample", 16, grid_sample},
  };
  return table;
}

}  // namespace aoe

#include "policy/winograd.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <set>

#include "device/machine_model.h"
#include "expr/affine.h"
#include "expr/rewrite.h"
#include "loop/lower.h"
#include "policy/contraction.h"
#include "policy/schedule.h"

// Winograd's minimal filtering F(m x m, 3 x 3) for m = 2 and 4 (Lavin & Gray 2016), on NHWC:
//
//   Y = A^T [ (G g G^T) . (B^T d B) ] A       "." multiplies element by element
//
//   g  3 x 3 taps of a filter             G    `g`        (m+2) x 3
//   d  (m+2) x (m+2) tile of the image    B^T  `b_t`      (m+2) x (m+2)
//   Y  m x m results                      A^T  `a_t`       m x (m+2)
//
// Neighbouring tiles of the image overlap by the filter's halo of two pixels; for m = 2:
//
//      0 1 2 3 4 5
//     +-------+
//     |   +---|---+      tile t reads pixels m t - padding .. m t - padding + m + 1
//     |   |   |   |      of each row, and computes results m t .. m t + m - 1
//     +-------+   |
//         +-------+
//
// Summed over channels, the element-wise product is one matrix product for each of the (m+2)^2
// positions in a tile: tiles x channels by channels x filters. A result takes (m+2)^2 / m^2
// multiplications for each channel instead of 9: 4 for m = 2, 2.25 for m = 4.
//
// In reading order: the two ways to apply a transform with few operations (`times`, `gathered`);
// the matrices (WinogradTile); the size of the memory in between (winograd_strip, WinogradMemory);
// which stages qualify (winograd_of); when it pays (default_winograd); the two transforms as nests
// (winograd_image, winograd_results). The products are in program/build_winograd.cpp.
//
// Invariant: transformed tiles and products have the layout [position][row of tiles][tile][channel
// or filter], with `image_position_stride` or `product_position_stride` elements from position to
// position. Nests index this memory as if it held all rows of tiles. A call computes one strip of
// them, and shifts the buffer's address back.

namespace aoe {
namespace {

using Row = std::vector<double>;

// Returns a linear combination. Zero terms are dropped; factors of 1 and -1 do not multiply.
Expr combination(const Row& factors, const std::vector<Expr>& of) {
  Expr sum;
  for (size_t i = 0; i < of.size(); ++i) {
    if (factors[i] == 0) continue;
    const double size = std::fabs(factors[i]);
    const Expr term = size == 1 ? of[i] : of[i] * number_like(of[i], size);
    if (sum) sum = factors[i] < 0 ? sum - term : sum + term;
    else sum = factors[i] < 0 ? -term : term;
  }
  return sum;
}

// For rows a and b that differ only in signs: {s, o} with a = s + o and b = s - o.
std::optional<std::array<Row, 2>> same_and_opposite(const Row& a, const Row& b) {
  std::array<Row, 2> parts{Row(a.size()), Row(a.size())};
  for (size_t i = 0; i < a.size(); ++i) {
    if (std::fabs(a[i]) != std::fabs(b[i])) return std::nullopt;
    parts[a[i] == b[i] ? 0 : 1][i] = a[i];
  }
  return parts;
}

bool has_factors(const Row& row) {
  return std::any_of(row.begin(), row.end(), [](double x) { return x != 0; });
}

// A matrix times a column of expressions, for B^T. Rows of opposite points +p and -p differ only in
// signs: with s and o as above, they are computed as s + o and s - o, for the price of one row and
// one addition. F(4 x 4, 3 x 3), points +-sqrt(1/2):
//
//   0  -sqrt(2)  -2   sqrt(1/2)  1  0      s = -2 d2 + d4
//   0   sqrt(2)  -2  -sqrt(1/2)  1  0      o = -sqrt(2) d1 + sqrt(1/2) d3
std::vector<Expr> multiply_paired_rows(const std::vector<double>& matrix,
                                       const std::vector<Expr>& column) {
  const size_t n = column.size();
  std::vector<Expr> result(matrix.size() / n);
  const auto row = [&](size_t i) { return Row(&matrix[i * n], &matrix[i * n] + n); };
  for (size_t i = 0; i < result.size(); ++i) {
    for (size_t k = i + 1; k < result.size(); ++k) {
      if (result[i] || result[k]) continue;
      const auto parts = same_and_opposite(row(i), row(k));
      if (!parts || !has_factors((*parts)[0]) || !has_factors((*parts)[1])) continue;
      const Expr same = combination((*parts)[0], column);
      const Expr opposite = combination((*parts)[1], column);
      result[i] = same + opposite;
      result[k] = same - opposite;
    }
    result[i] = result[i] ? result[i] : combination(row(i), column);
  }
  return result;
}

// The same product for A^T, whose columns (not rows) differ only in signs: the inputs of opposite
// points are added and subtracted first, and each row then uses the sum or the difference.
std::vector<Expr> multiply_paired_columns(const std::vector<double>& matrix,
                                          const std::vector<Expr>& column) {
  const size_t n = column.size();
  const size_t rows = matrix.size() / n;
  const auto factors_of = [&](size_t j) {
    Row factors;
    for (size_t i = 0; i < rows; ++i) factors.push_back(matrix[i * n + j]);
    return factors;
  };
  std::vector<Expr> terms;
  std::vector<Row> factors;  // for each term, its factor in every row
  const auto add = [&](const Expr& term, const Row& of) {
    terms.push_back(term);
    factors.push_back(of);
  };
  std::vector<bool> done(n);
  for (size_t j = 0; j < n; ++j) {
    const Row column_factors = factors_of(j);
    const bool everywhere =
        std::find(column_factors.begin(), column_factors.end(), 0.0) == column_factors.end();
    for (size_t k = j + 1; k < n && everywhere && !done[j]; ++k) {
      const auto parts = same_and_opposite(column_factors, factors_of(k));
      if (!parts) continue;
      add(column[j] + column[k], (*parts)[0]);
      add(column[j] - column[k], (*parts)[1]);
      done[j] = done[k] = true;
    }
    if (!done[j]) add(column[j], column_factors);
  }
  std::vector<Expr> result;
  for (size_t i = 0; i < rows; ++i) {
    Row of;
    for (const Row& f : factors) of.push_back(f[i]);
    result.push_back(combination(of, terms));
  }
  return result;
}

// Returns M T M^T for a row-major tile T; `along` multiplies a column by M. Each of two passes
// transforms columns and transposes, so the result is in the original orientation.
template <typename Fn>
std::vector<Expr> transform_2d(std::vector<Expr> tile, size_t points, const Fn& along) {
  for (int way = 0; way < 2; ++way) {
    const size_t width = points;
    std::vector<Expr> next;  // transposed
    for (size_t x = 0; x < width; ++x) {
      std::vector<Expr> column;
      for (size_t at = x; at < tile.size(); at += width) column.push_back(tile[at]);
      const std::vector<Expr> moved = along(column);
      next.insert(next.end(), moved.begin(), moved.end());
    }
    points = next.size() / width;
    tile = std::move(next);
  }
  return tile;
}

int64_t tiles_along(int64_t extent, int side) { return ceil_div(extent, int64_t{side}); }

// Vectors go along channels or filters. No unrolling: the 16 or 36 vectors of one tile fill the
// registers.
Nest vectorized(Nest nest, const Device& device) {
  NestPolicy policy;
  for (const Loop& loop : nest.loops) {
    int lanes = device.vector_bytes / 4;
    while (lanes / 2 >= loop.extents.back() && lanes > 1) lanes /= 2;
    LoopPolicy& decision = policy.loops.emplace_back();
    // The loop of a border of one pixel may have no axes but the outer ones.
    if (lanes == 1 || loop.extents.size() <= nest.outer.size()) continue;
    decision = {.vector_axis = static_cast<int>(loop.extents.size()) - 1, .lanes = lanes};
  }
  return decided(std::move(nest), policy);
}

// Sized as if it held all rows of tiles; see the invariant above.
NestBuffer scratch_buffer(int64_t positions, int64_t step, int64_t all) {
  return {DType::f32, {(positions - 1) * step + all}, -1, false};
}

// Values of the stage's axes at pixel (y, x) of image axis(0); 0 for all other axes.
std::vector<Expr> axes_at(const Winograd& w, const Expr& y, const Expr& x) {
  std::vector<Expr> axes(w.axes, Expr::position(0));
  if (w.batch) axes[*w.batch] = Expr::axis(0);
  axes[w.y] = y;
  axes[w.x] = x;
  return axes;
}

}  // namespace

WinogradTile::WinogradTile(int side) : side(side), points(side + 2) {
  // Toom-Cook: G (scaled) and A^T evaluate polynomials at these points and at infinity (the last
  // one), B^T has the coefficients of products of (x - point). Points are opposite: `times` and
  // `gathered` then share work. For m = 4 they are reciprocal too, sqrt(1/2) sqrt(2) = 1: factors
  // stay below 2.9, where 0, +-1, +-2 would need 5 and 8, and rounding loses less. For m = 2:
  //
  //           -1  0  1  0            -1    0    0
  //   B^T =    0  1  1  0      G =   1/2  1/2  1/2      A^T =   1  1  1  0
  //            0 -1  1  0            1/2 -1/2  1/2              0  1 -1  1
  //            0 -1  0  1             0    0    1
  //
  // and for m = 4, with s = sqrt(1/2) and t = sqrt(2):
  //
  //            1   0 -5/2   0  1  0             1     0    0
  //            0  -t  -2    s  1  0           -2/3 -2s/3 -1/3             1   1   1   1   1  0
  //   B^T =    0   t  -2   -s  1  0     G =   -2/3  2s/3 -1/3     A^T =   0   s  -s   t  -t  0
  //            0  -s -1/2   t  1  0            1/6   t/6  1/3             0 1/2 1/2   2   2  0
  //            0   s -1/2  -t  1  0            1/6  -t/6  1/3             0 s/2 -s/2 2t -2t  1
  //            0   1   0 -5/2  0  1             0     0    1
  const std::vector<double> at = side == 2 ? std::vector<double>{0, 1, -1}
                                           : std::vector<double>{0, std::sqrt(0.5), -std::sqrt(0.5),
                                                                 std::sqrt(2), -std::sqrt(2)};
  const auto n = static_cast<size_t>(points);
  g.assign(n * 3, 0);
  b_t.assign(n * n, 0);
  a_t.assign(static_cast<size_t>(side) * n, 0);
  // Coefficients of the product of (x - point) over all points but one, lowest power first.
  const auto product = [&](size_t without) {
    std::vector<double> c{1};
    for (size_t j = 0; j < at.size(); ++j) {
      if (j == without) continue;
      std::vector<double> next(c.size() + 1);
      for (size_t i = 0; i < c.size(); ++i) {
        next[i + 1] += c[i];
        next[i] -= at[j] * c[i];
      }
      c = std::move(next);
    }
    return c;
  };
  for (size_t j = 0; j < at.size(); ++j) {
    double scale = 1;
    for (size_t l = 0; l < at.size(); ++l) {
      if (l != j) scale *= at[j] - at[l];
    }
    for (size_t k = 0; k < 3; ++k) {
      g[j * 3 + k] = std::pow(at[j], static_cast<double>(k)) / scale;
    }
    for (size_t i = 0; i < static_cast<size_t>(side); ++i) {
      a_t[i * n + j] = std::pow(at[j], static_cast<double>(i));
    }
  }
  for (size_t j = 0; j < n; ++j) {
    const std::vector<double> c = product(j);
    std::copy(c.begin(), c.end(), &b_t[j * n]);
  }
  g.back() = 1;
  a_t.back() = 1;
  // Square roots leave factors of 1e-16 that should be 0, and opposite ones whose last digits
  // differ. `multiply_paired_rows` and `multiply_paired_columns` compare exactly, and kernels
  // compute in f32 anyway. G stays in double precision: weights are transformed once.
  for (std::vector<double>* matrix : {&b_t, &a_t}) {
    for (double& value : *matrix) {
      value = static_cast<float>(value);
      if (std::fabs(value) < 1e-6) value = 0;
    }
  }
}

std::vector<double> WinogradTile::weight_transform() const {
  const auto n = static_cast<size_t>(points);
  std::vector<double> factors;
  for (size_t p = 0; p < n * n; ++p) {
    for (size_t tap = 0; tap < 9; ++tap) {
      factors.push_back(g[p / n * 3 + tap / 3] * g[p % n * 3 + tap % 3]);
    }
  }
  return factors;
}

int64_t winograd_strip(const Winograd& w, int side, const ProductPolicy& policy,
                       const Device& device) {
  const int64_t all = tiles_along(w.height, side);
  if (policy.strip > 0) return std::min(policy.strip, all);
  // Transformed tiles and products of one block of filters have 60 % of the second-level cache. The
  // rest is for the block's weights and the image.
  const int64_t room = machine::second_level_bytes(device) * 6 / 10;
  const int64_t positions = int64_t{side + 2} * (side + 2);
  const int64_t filters = int64_t{policy.vectors} * policy.lanes;
  const int64_t row = positions * tiles_along(w.width, side) * (w.channels + filters) * 4;
  return std::clamp<int64_t>(room / row, 1, all);
}

// 16 floats, a cache line, beyond the tiles: channels are often a power of two, and the (m+2)^2
// stores of one tile would all fall into the same set of the first-level cache.
int64_t WinogradMemory::image_position_stride(const Winograd& w, int side) const {
  return rows * tiles_along(w.width, side) * w.channels + 16;
}
int64_t WinogradMemory::product_position_stride(const Winograd& w, int side) const {
  return rows * tiles_along(w.width, side) * columns + 16;
}

std::optional<Winograd> winograd_of(const Workload& workload, const Stage& stage) {
  const auto c = contraction_of(stage);
  if (!c || !is_constant(workload, c->right) || is_constant(workload, c->left)) return std::nullopt;
  // Weights also vary along an outer axis, so tiles would not share one filter.
  if (!c->outer.empty()) return std::nullopt;
  if (c->left->op != ExprOp::load || c->left.dtype() != DType::f32 || c->columns.size() != 1 ||
      stage.elements[0].dtype() != DType::f32 || stage.results[0].dtype() != DType::f32) {
    return std::nullopt;
  }
  Winograd w;
  w.image = c->left;
  w.weights = c->right;
  w.filter = c->columns[0];
  const Shape extents = stage.extents();
  w.axes = extents.size();
  const size_t out = stage.axes.size();
  const Shape& shape = workload.type_of(c->left->id).shape;
  const Expr outside = out_of_range_value(c->left);
  if (outside && !(outside.is_constant() && outside->number == 0)) return std::nullopt;
  // Each dimension of the image has to be one of: the channels (last), the images of a batch, an
  // extent of 1, or a window "position + tap + constant" of three taps, first y, then x.
  int windows = 0;
  for (size_t d = 0; d < shape.size(); ++d) {
    const Expr& index = c->left->operands[d];
    if (index->op == ExprOp::axis) {
      const auto single = static_cast<size_t>(index->id);
      const bool channel = single >= out;
      if (extents[single] != shape[d] || (channel ? d + 1 != shape.size() : w.batch.has_value())) {
        return std::nullopt;
      }
      if (channel) w.channel = single;
      else w.batch = single;
      (channel ? w.channels : w.images) = shape[d];
      continue;
    }
    if (index.is_integer(0) && shape[d] == 1) continue;
    const auto form = affine_of(index, extents.size());
    if (!form) return std::nullopt;
    std::optional<size_t> position;
    std::optional<size_t> tap;
    for (size_t i = 0; i < extents.size(); ++i) {
      if (form->coefficients[i] == 0) continue;
      if (form->coefficients[i] != 1 || (i < out ? position : tap)) return std::nullopt;
      (i < out ? position : tap) = i;
    }
    if (!position || !tap || extents[*tap] != 3 || windows == 2) return std::nullopt;
    (windows == 0 ? w.y : w.x) = *position;
    (windows == 0 ? w.tap_y : w.tap_x) = *tap;
    (windows == 0 ? w.height : w.width) = extents[*position];
    ++windows;
  }
  // Nests and memory assume the order images, y, x, filter.
  if (windows != 2 || w.channels == 0 || !(w.y < w.x && w.x < w.filter) ||
      (w.batch && *w.batch >= w.y) || w.tap_y == w.tap_x || w.channel == w.tap_y ||
      w.channel == w.tap_x) {
    return std::nullopt;
  }
  w.filters = extents[w.filter];
  const std::set<size_t> known{
      w.y, w.x, w.filter, w.tap_y, w.tap_x, w.channel, w.batch.value_or(w.y)};
  for (size_t i = 0; i < extents.size(); ++i) {
    if (!known.contains(i) && extents[i] != 1) return std::nullopt;
  }
  return w;
}

int64_t winograd_tiles(const Winograd& w, int side) {
  return w.images * tiles_along(w.height, side) * tiles_along(w.width, side);
}

double winograd_cycles(const Winograd& w, int side, double products, const Device& device) {
  const double positions = (side + 2.0) * (side + 2.0);
  const auto c = static_cast<double>(w.channels);
  const auto k = static_cast<double>(w.filters);
  const double points = static_cast<double>(winograd_tiles(w, side)) * positions;
  // There are (m+2)^2 / 9 times the weights of the direct convolution. They are fetched while
  // products run, so the slower of the two counts; transforms are added in full.
  const int lanes = device.vector_bytes / 4;
  return std::max(products, machine::fetching_cycles(positions * c * k * 4, device)) +
         machine::kTransformed * points * (c + k) / lanes;
}

int default_winograd(const Winograd& w, const Device& device) {
  const int lanes = device.vector_bytes / 4;
  // Transforms cost channels + filters, the products they save channels x filters: with few of
  // either, the gain is too small for a rough model.
  constexpr int64_t kFewChannels = 32;
  if (w.channels < kFewChannels || w.filters % lanes != 0 || w.filters < kFewChannels) return 0;
  // The direct convolution is counted at one multiply-add of vectors per cycle. A gain below 20 %
  // is within the model's error, and costs memory and accuracy.
  constexpr double kWorthwhile = 0.8;
  const auto pixels = static_cast<double>(w.images * w.height * w.width);
  const auto c = static_cast<double>(w.channels);
  const auto k = static_cast<double>(w.filters);
  double best = kWorthwhile * std::max(pixels * 9 * c * k / lanes,
                                       machine::fetching_cycles(9 * c * k * 4, device));
  int chosen = 0;
  for (const int side : kWinogradTiles) {
    const double positions = (side + 2.0) * (side + 2.0);
    const double products =
        static_cast<double>(winograd_tiles(w, side)) * positions * c * k / lanes;
    const double cycles = winograd_cycles(w, side, products / machine::kShareOfPeak, device);
    if (cycles < best) {
      best = cycles;
      chosen = side;
    }
  }
  return chosen;
}

Nest winograd_image(const Workload& workload, const Winograd& w, const WinogradTile& tile,
                    const WinogradMemory& memory, const Device& device) {
  const int64_t m = tile.side;
  const int64_t rows = tiles_along(w.height, tile.side);
  const int64_t columns = tiles_along(w.width, tile.side);
  Nest nest;
  nest.outer = {w.images, rows};
  nest.buffers = {buffer_over(workload, w.image->id),
                  scratch_buffer(tile.positions(), memory.image_position_stride(w, tile.side),
                                 w.images * rows * columns * w.channels)};
  Loop loop;
  loop.extents = {w.images, rows, columns, w.channels};
  loop.out_rank = 4;
  // One point of the loop is one channel of one tile: loads d, stores B^T d B. Loads outside the
  // image give 0, which covers padding and the part of a last tile beyond the image alike.
  std::vector<Expr> elements;
  for (int64_t i = 0; i < tile.points; ++i) {
    for (int64_t j = 0; j < tile.points; ++j) {
      std::vector<Expr> to = axes_at(w, Expr::axis(1) * m + i, Expr::axis(2) * m + j);
      to[w.channel] = Expr::axis(3);
      std::vector<Expr> index = index_of(w.image);
      for (Expr& position : index) position = with_axes(position, to);
      elements.push_back(Expr::load(0, DType::f32, index, Expr::constant(DType::f32, 0)));
    }
  }
  loop.results =
      transform_2d(elements, static_cast<size_t>(tile.points),
                   [&](const std::vector<Expr>& e) { return multiply_paired_rows(tile.b_t, e); });
  const Expr place =
      ((Expr::axis(0) * rows + Expr::axis(1)) * columns + Expr::axis(2)) * w.channels +
      Expr::axis(3);
  for (int64_t p = 0; p < tile.positions(); ++p) {
    loop.stores.push_back({1, place + p * memory.image_position_stride(w, tile.side)});
  }
  nest.loops = lower_parts(nest.buffers, loop, nest.outer.size());
  return vectorized(std::move(nest), device);
}

Nest winograd_results(const Workload& workload, const Stage& stage, const Winograd& w,
                      const WinogradTile& tile, const WinogradMemory& memory, bool whole,
                      const Device& device) {
  const int64_t m = tile.side;
  const int64_t all_rows = tiles_along(w.height, tile.side);
  const int64_t all_columns = tiles_along(w.width, tile.side);
  const int64_t whole_rows = w.height / m;
  const int64_t high = whole ? m : w.height % m;
  Nest nest;
  nest.outer = {w.images, whole ? whole_rows : 1};
  nest.buffers = {scratch_buffer(tile.positions(), memory.product_position_stride(w, tile.side),
                                 w.images * all_rows * all_columns * memory.columns)};
  std::map<int64_t, int> buffers;  // by value
  const auto buffer_of = [&](int64_t value) {
    const auto [known, fresh] = buffers.emplace(value, static_cast<int>(nest.buffers.size()));
    if (fresh) nest.buffers.push_back(buffer_over(workload, value));
    return known->second;
  };
  // Tiles at the lower and right border compute fewer than m x m results. Whole and partial columns
  // of tiles are two loops of one nest. Whole and partial rows are two nests, because rows of tiles
  // are outer points, which all loops of a nest share.
  const Expr row = whole ? Expr::axis(1) : Expr::axis(1) + whole_rows;
  const auto add_columns = [&](int64_t first, int64_t count, int64_t wide) {
    if (count == 0) return;
    Loop loop;
    loop.extents = {w.images, nest.outer[1], w.filters / memory.columns, count, memory.columns};
    loop.out_rank = loop.extents.size();
    const Expr column = Expr::axis(3) + first;
    const Expr place =
        ((Expr::axis(0) * all_rows + row) * all_columns + column) * memory.columns + Expr::axis(4);
    std::vector<Expr> products;
    for (int64_t p = 0; p < tile.positions(); ++p) {
      products.push_back(Expr::linear_load(
          0, DType::f32, place + p * memory.product_position_stride(w, tile.side)));
    }
    const std::vector<Expr> sums = transform_2d(
        products, static_cast<size_t>(tile.points),
        [&](const std::vector<Expr>& e) { return multiply_paired_columns(tile.a_t, e); });
    for (int64_t dy = 0; dy < high; ++dy) {
      for (int64_t dx = 0; dx < wide; ++dx) {
        std::vector<Expr> to = axes_at(w, row * m + dy, column * m + dx);
        to[w.filter] = Expr::axis(2) * memory.columns + Expr::axis(4);
        // The epilogue of the convolution, with the transformed sum in place of its argument.
        const Expr& sum = sums[static_cast<size_t>(dy * m + dx)];
        const std::function<Expr(const Expr&)> replace = [&](const Expr& e) -> Expr {
          if (e->op == ExprOp::arg) return sum;
          if (e->op != ExprOp::load) return {};
          std::vector<Expr> index = index_of(e);
          for (Expr& position : index) position = rewrite(position, replace);
          return Expr::load(
              buffer_of(e->id), e.dtype(), index,
              has_out_of_range_value(e) ? rewrite(e->operands.back(), replace) : Expr{});
        };
        loop.results.push_back(rewrite(with_axes(stage.results[0], to), replace));
        loop.stores.push_back({buffer_of(stage.outputs[0]), offset_of(to, stage.axes)});
      }
    }
    size_t kept = 2;
    nest.loops.push_back(lower_loop(nest.buffers, std::move(loop), nest.outer.size(), &kept));
    nest.ranged_axis = static_cast<int>(kept);
  };
  add_columns(0, w.width / m, m);
  add_columns(w.width / m, w.width % m == 0 ? 0 : 1, w.width % m);
  return vectorized(std::move(nest), device);
}

}  // namespace aoe

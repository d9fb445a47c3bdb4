#include "policy/winograd.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "device/machine_model.h"
#include "expr/affine.h"
#include "expr/rewrite.h"
#include "policy/contraction.h"
#include "policy/lower.h"
#include "policy/parts.h"

namespace aoe {
namespace {

Expr axis(int64_t which) { return Expr::axis(which); }
Expr number(int64_t value) { return Expr::integer(DType::i64, value); }

// One axis alone: which.
std::optional<size_t> axis_of(const Expr& index) {
  if (index->op != ExprOp::axis) return std::nullopt;
  return static_cast<size_t>(index->id);
}

// Sums of numbers times expressions, left out where they are zero.
Expr combination(const std::vector<double>& factors, const std::vector<Expr>& of) {
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

// A matrix times a column of expressions. Rows that differ in signs only share what they can:
// points come in pairs of opposite ones.
std::vector<Expr> times(const std::vector<double>& matrix, const std::vector<Expr>& column) {
  const size_t n = column.size();
  const size_t rows = matrix.size() / n;
  const auto row = [&](size_t i) {
    return std::vector<double>(matrix.begin() + static_cast<int64_t>(i * n),
                               matrix.begin() + static_cast<int64_t>((i + 1) * n));
  };
  std::vector<Expr> result(rows);
  for (size_t i = 0; i < rows; ++i) {
    if (result[i]) continue;
    for (size_t k = i + 1; k < rows; ++k) {
      if (result[i] || result[k]) continue;
      const auto a = row(i);
      const auto b = row(k);
      std::vector<double> same(n);
      std::vector<double> other(n);
      bool pair = true;
      for (size_t j = 0; j < n; ++j) {
        pair = pair && std::fabs(a[j]) == std::fabs(b[j]);
        (a[j] == b[j] ? same : other)[j] = a[j];
      }
      const auto empty = [](const std::vector<double>& v) {
        return std::all_of(v.begin(), v.end(), [](double x) { return x == 0; });
      };
      if (!pair || empty(same) || empty(other)) continue;
      const Expr s = combination(same, column);
      const Expr o = combination(other, column);
      result[i] = s + o;
      result[k] = s - o;
    }
    result[i] = result[i] ? result[i] : combination(row(i), column);
  }
  return result;
}

// The transpose of times: columns that differ in signs only are added and subtracted first.
std::vector<Expr> gathered(const std::vector<double>& matrix, const std::vector<Expr>& column) {
  const size_t n = column.size();
  const size_t rows = matrix.size() / n;
  std::vector<Expr> terms;
  std::vector<std::vector<double>> factors;  // for each term: of every row
  std::vector<bool> done(n);
  const auto factor = [&](size_t i, size_t j) { return matrix[i * n + j]; };
  const auto add = [&](const Expr& term, const std::vector<double>& of) {
    terms.push_back(term);
    factors.push_back(of);
  };
  for (size_t j = 0; j < n; ++j) {
    if (done[j]) continue;
    std::vector<double> own(rows);
    for (size_t i = 0; i < rows; ++i) own[i] = factor(i, j);
    for (size_t k = j + 1; k < n && !done[j]; ++k) {
      std::vector<double> even(rows);
      std::vector<double> odd(rows);
      bool pair = true;
      for (size_t i = 0; i < rows; ++i) {
        pair = pair && own[i] != 0 && std::fabs(own[i]) == std::fabs(factor(i, k));
        (own[i] == factor(i, k) ? even : odd)[i] = own[i];
      }
      if (!pair) continue;
      add(column[j] + column[k], even);
      add(column[j] - column[k], odd);
      done[j] = done[k] = true;
    }
    if (!done[j]) add(column[j], own);
  }
  std::vector<Expr> result;
  for (size_t i = 0; i < rows; ++i) {
    std::vector<double> of;
    for (const auto& f : factors) of.push_back(f[i]);
    result.push_back(combination(of, terms));
  }
  return result;
}

// A transform along both sides of a tile, given row by row.
template <typename Fn>
std::vector<Expr> both_ways(std::vector<Expr> tile, size_t points, const Fn& along) {
  for (int way = 0; way < 2; ++way) {
    std::vector<Expr> next;  // transposed, so that the second way is like the first
    const size_t width = points;
    const size_t height = tile.size() / width;
    for (size_t x = 0; x < width; ++x) {
      std::vector<Expr> column;
      for (size_t y = 0; y < height; ++y) column.push_back(tile[y * width + x]);
      const std::vector<Expr> moved = along(column);
      next.insert(next.end(), moved.begin(), moved.end());
    }
    points = next.size() / width;
    // `next` is x by y'; it is looked at as rows of y'.
    tile = std::move(next);
  }
  return tile;
}

int64_t tiles_along(int64_t extent, int side) { return ceil_div(extent, int64_t{side}); }

// Vectors along the last axis, one at a time: a tile has many of them.
NestPolicy vectors_along_last(const Nest& nest, const Device& device) {
  NestPolicy policy{.outer = static_cast<int>(nest.outer.size()), .loops = {}};
  for (const Loop& loop : nest.loops) {
    const int64_t extent = loop.extents.back();
    LoopPolicy own;
    own.lanes = device.vector_bytes / 4;
    while (own.lanes / 2 >= extent && own.lanes > 1) own.lanes /= 2;
    // What is left of a border may have no axis but the outer ones, which calls range over.
    if (loop.extents.size() <= nest.outer.size()) own.lanes = 1;
    if (own.lanes > 1) own.vector_axis = static_cast<int>(loop.extents.size()) - 1;
    policy.loops.push_back(own);
  }
  return policy;
}

void decide(Nest& nest, const Device& device) {
  const NestPolicy policy = vectors_along_last(nest, device);
  for (size_t i = 0; i < nest.loops.size(); ++i) nest.loops[i].policy = policy.loops[i];
}

}  // namespace

WinogradTile::WinogradTile(int side) : side(side), points(side + 2) {
  // Opposite points, and in pairs whose products are one: sums stay exact to the last digits.
  const std::vector<double> at = side == 2 ? std::vector<double>{0, 1, -1}
                                           : std::vector<double>{0, std::sqrt(0.5), -std::sqrt(0.5),
                                                                 std::sqrt(2), -std::sqrt(2)};
  const auto n = static_cast<size_t>(points);
  weights.assign(n * 3, 0);
  image.assign(n * n, 0);
  results.assign(static_cast<size_t>(side) * n, 0);
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
      weights[j * 3 + k] = std::pow(at[j], static_cast<double>(k)) / scale;
    }
    const auto c = product(j);
    for (size_t i = 0; i < c.size(); ++i) image[j * n + i] = c[i];
    for (size_t i = 0; i < static_cast<size_t>(side); ++i) {
      results[i * n + j] = std::pow(at[j], static_cast<double>(i));
    }
  }
  weights[(n - 1) * 3 + 2] = 1;
  const auto c = product(n);
  for (size_t i = 0; i < c.size(); ++i) image[(n - 1) * n + i] = c[i];
  results[static_cast<size_t>(side) * n - 1] = 1;
  // Rounding must not keep opposite points from being recognized.
  for (std::vector<double>* matrix : {&image, &results}) {
    for (double& value : *matrix) {
      value = static_cast<float>(value);
      if (std::fabs(value) < 1e-6) value = 0;
    }
  }
}

std::vector<double> WinogradTile::weight_factors() const {
  const auto n = static_cast<size_t>(points);
  std::vector<double> factors;
  for (size_t p = 0; p < n * n; ++p) {
    for (size_t tap = 0; tap < 9; ++tap) {
      factors.push_back(weights[p / n * 3 + tap / 3] * weights[p % n * 3 + tap % 3]);
    }
  }
  return factors;
}

int64_t winograd_strip(const Winograd& w, int side, const ProductPolicy& policy,
                       const Device& device) {
  const int64_t all = tiles_along(w.height, side);
  if (policy.strip > 0) return std::min(policy.strip, all);
  const int64_t room = machine::second_level_bytes(device) * 6 / 10;
  const int64_t positions = int64_t{side + 2} * (side + 2);
  const int64_t filters = int64_t{policy.vectors} * policy.lanes;
  const int64_t row = positions * tiles_along(w.width, side) * (w.channels + filters) * 4;
  return std::clamp<int64_t>(room / row, 1, all);
}

int64_t WinogradMemory::image_step(const Winograd& w, int side) const {
  return rows * tiles_along(w.width, side) * w.channels + 16;
}
int64_t WinogradMemory::product_step(const Winograd& w, int side) const {
  return rows * tiles_along(w.width, side) * columns + 16;
}

std::optional<Winograd> winograd_of(const Workload& workload, const Stage& stage) {
  const auto c = contraction_of(stage);
  if (!c || !is_fixed(workload, c->right) || is_fixed(workload, c->left)) return std::nullopt;
  // Weights that differ from image to image, or from place to place, are no filter.
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
  const Shape& shape = workload.values[static_cast<size_t>(c->left->id)].type.shape;
  if (has_outside(c->left) &&
      !(c->left->operands.back().is_constant() && c->left->operands.back()->number == 0)) {
    return std::nullopt;
  }
  int windows = 0;
  for (size_t d = 0; d < shape.size(); ++d) {
    const Expr& index = c->left->operands[d];
    if (const auto single = axis_of(index)) {
      if (extents[*single] != shape[d]) return std::nullopt;
      if (*single >= out) {
        if (d + 1 != shape.size()) return std::nullopt;
        w.channel = *single;
        w.channels = extents[*single];
      } else {
        if (w.batch) return std::nullopt;
        w.batch = *single;
        w.images = extents[*single];
      }
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
  if (windows != 2 || w.channels == 0 || !(w.y < w.x && w.x < w.filter) ||
      (w.batch && *w.batch >= w.y) || w.tap_y == w.tap_x || w.channel == w.tap_y ||
      w.channel == w.tap_x) {
    return std::nullopt;
  }
  w.filters = extents[w.filter];
  for (size_t i = 0; i < extents.size(); ++i) {
    const bool known = i == w.y || i == w.x || i == w.filter || i == w.tap_y || i == w.tap_x ||
                       i == w.channel || (w.batch && i == *w.batch);
    if (!known && extents[i] != 1) return std::nullopt;
  }
  return w;
}

namespace {

int64_t tiles_of(const Winograd& w, int side) {
  return w.images * tiles_along(w.height, side) * tiles_along(w.width, side);
}

// As if it held all rows of tiles for each position; a call has some of them.
NestBuffer own_buffer(int64_t positions, int64_t step, int64_t all) {
  return {DType::f32, {(positions - 1) * step + all}, -1, false};
}

}  // namespace

double winograd_cycles(const Winograd& w, int side, double products, const Device& device) {
  const double positions = (side + 2.0) * (side + 2.0);
  const auto c = static_cast<double>(w.channels);
  const auto k = static_cast<double>(w.filters);
  const double points = static_cast<double>(tiles_of(w, side)) * positions;
  return std::max(products, machine::fetching_cycles(positions * c * k * 4, device)) +
         machine::kTransformed * points * (c + k) / (device.vector_bytes / 4);
}

int default_winograd(const Winograd& w, const Device& device) {
  const int lanes = device.vector_bytes / 4;
  constexpr int64_t kFewChannels = 32;
  if (w.channels < kFewChannels || w.filters % lanes != 0 || w.filters < kFewChannels) return 0;
  // A multiply-add of whole vectors a cycle; what gains little is not worth its memory.
  constexpr double kWorthwhile = 0.8;
  const auto pixels = static_cast<double>(w.images * w.height * w.width);
  const auto c = static_cast<double>(w.channels);
  const auto k = static_cast<double>(w.filters);
  double best = kWorthwhile * std::max(pixels * 9 * c * k / lanes,
                                       machine::fetching_cycles(9 * c * k * 4, device));
  int chosen = 0;
  for (const int side : kWinogradTiles) {
    const double positions = (side + 2.0) * (side + 2.0);
    const double products = static_cast<double>(tiles_of(w, side)) * positions * c * k / lanes;
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
  const auto value = static_cast<int>(w.image->id);
  Nest nest;
  nest.outer = {w.images, rows};
  nest.buffers = {{DType::f32, workload.values[static_cast<size_t>(value)].type.shape,
                   workload.storage(value), false},
                  own_buffer(tile.positions(), memory.image_step(w, tile.side),
                             w.images * rows * columns * w.channels)};
  Loop loop;
  loop.extents = {w.images, rows, columns, w.channels};
  loop.out_rank = 4;
  std::vector<Expr> elements;
  for (int64_t i = 0; i < tile.points; ++i) {
    for (int64_t j = 0; j < tile.points; ++j) {
      std::vector<Expr> to(w.axes, number(0));
      if (w.batch) to[*w.batch] = axis(0);
      to[w.y] = axis(1) * m + i;
      to[w.x] = axis(2) * m + j;
      to[w.channel] = axis(3);
      std::vector<Expr> index;
      for (const Expr& position : index_of(w.image)) index.push_back(with_axes(position, to));
      elements.push_back(Expr::load(0, DType::f32, index, Expr::constant(DType::f32, 0)));
    }
  }
  loop.results = both_ways(elements, static_cast<size_t>(tile.points),
                           [&](const std::vector<Expr>& e) { return times(tile.image, e); });
  const Expr place = ((axis(0) * rows + axis(1)) * columns + axis(2)) * w.channels + axis(3);
  for (int64_t p = 0; p < tile.positions(); ++p) {
    loop.stores.push_back({1, place + p * memory.image_step(w, tile.side)});
  }
  for (Loop& part : parts_of(nest.buffers, loop, nest.outer.size())) {
    size_t kept = ~size_t{0};
    nest.loops.push_back(lower_loop(nest.buffers, std::move(part), nest.outer.size(), kept));
  }
  decide(nest, device);
  return nest;
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
  nest.buffers = {own_buffer(tile.positions(), memory.product_step(w, tile.side),
                             w.images * all_rows * all_columns * memory.columns)};
  std::map<int64_t, int> buffers;  // by value
  const auto buffer_of = [&](int64_t value) {
    const auto [known, fresh] = buffers.emplace(value, static_cast<int>(nest.buffers.size()));
    if (fresh) {
      const TensorType& type = workload.values[static_cast<size_t>(value)].type;
      nest.buffers.push_back(
          {type.dtype, type.shape, workload.storage(static_cast<int>(value)), false});
    }
    return known->second;
  };
  const Expr row = whole ? axis(1) : axis(1) + whole_rows;
  const auto add_columns = [&](int64_t first, int64_t count, int64_t wide) {
    if (count == 0) return;
    Loop loop;
    loop.extents = {w.images, nest.outer[1], w.filters / memory.columns, count, memory.columns};
    loop.out_rank = loop.extents.size();
    const Expr column = axis(3) + first;
    const Expr place =
        ((axis(0) * all_rows + row) * all_columns + column) * memory.columns + axis(4);
    std::vector<Expr> products;
    for (int64_t p = 0; p < tile.positions(); ++p) {
      products.push_back(
          Expr::linear_load(0, DType::f32, place + p * memory.product_step(w, tile.side)));
    }
    const std::vector<Expr> sums =
        both_ways(products, static_cast<size_t>(tile.points),
                  [&](const std::vector<Expr>& e) { return gathered(tile.results, e); });
    const Shape strides = row_major_strides(stage.axes);
    for (int64_t dy = 0; dy < high; ++dy) {
      for (int64_t dx = 0; dx < wide; ++dx) {
        std::vector<Expr> to(stage.extents().size(), number(0));
        if (w.batch) to[*w.batch] = axis(0);
        to[w.y] = row * m + dy;
        to[w.x] = column * m + dx;
        to[w.filter] = axis(2) * memory.columns + axis(4);
        const Expr sum = sums[static_cast<size_t>(dy * m + dx)];
        const std::function<Expr(const Expr&)> replace = [&](const Expr& e) -> Expr {
          if (e->op == ExprOp::arg) return sum;
          if (e->op != ExprOp::load) return {};
          std::vector<Expr> index;
          for (const Expr& position : index_of(e)) index.push_back(rewrite(position, replace));
          return Expr::load(buffer_of(e->id), e.dtype(), index,
                            has_outside(e) ? rewrite(e->operands.back(), replace) : Expr{});
        };
        loop.results.push_back(rewrite(with_axes(stage.results[0], to), replace));
        Expr offset = number(0);
        for (size_t i = 0; i < stage.axes.size(); ++i) offset = offset + to[i] * strides[i];
        loop.stores.push_back({buffer_of(stage.outputs[0]), offset});
      }
    }
    size_t kept = 2;
    nest.loops.push_back(lower_loop(nest.buffers, std::move(loop), nest.outer.size(), kept));
    nest.ranged_axis = static_cast<int>(kept);
  };
  add_columns(0, w.width / m, m);
  add_columns(w.width / m, w.width % m == 0 ? 0 : 1, w.width % m);
  decide(nest, device);
  return nest;
}

}  // namespace aoe

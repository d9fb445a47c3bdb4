#include "policy/product_defaults.h"

#include <algorithm>
#include <cmath>

#include "device/dot.h"
#include "device/machine_model.h"
#include "policy/validate.h"

// The analytic model of blocked products. In reading order:
//   tile_cycles, all_cycles   cycles of a tile, and of all tiles of an outer point with the edges
//   choose_tile               mr x nr with the fewest cycles among the tiles that fit the registers
//   product_shape             the sizes of a product, and how each side is read
//   default_transformed       a product inside Winograd's or Strassen's algorithm
//   product_cycles            the same count for estimates (policy/estimate.cpp)
//   default_product           any other: the tile first, then kc and nc from the second-level cache
//
// Invariant: the choices depend on the shape and the device alone, and are valid (validate.h). A
// default tile has all its vectors in registers; the bounds of validate.h allow two more.

namespace aoe {
namespace {

// Most rows of a default tile whose left side is read in place. Each row needs a separate pointer,
// and x86-64 has 16 general registers, of which the right side, strides and counters need some.
constexpr int64_t kMostDirectRows = 8;
// Most rows of a default tile of Winograd's algorithm, one or two vectors wide. Twelve accumulators
// already hide the latency of multiply-adds (machine::kLatency x 2 a cycle = 8).
constexpr int kMostTransformedRows = 12;
// Weight of the loads per multiply-add, 1 / rows + 1 / vectors, in the cost of a tile: at most 4 %,
// so that it only decides between tiles of nearly equal cycles, for the squarer one.
constexpr double kLoadWeight = 0.02;
// Fewest tiles side by side in a packed block. The depth gets the rest of the cache: each further
// block of the depth stores and reloads the partial sums.
constexpr int64_t kLeastPackedTiles = 4;
// A tile adds up one part of the depth after the other, element by element. Sums of so many
// elements lose digits if parts are long: more than 1e-4 if all roundings go the same way (equal
// elements).
constexpr int64_t kDeep = 16384;
constexpr int64_t kPartOfDeep = 1024;

// Cycles of the parts of a tile.
struct TileCosts {
  double each = 1;    // a multiply-add of vectors
  double column = 0;  // a vector of columns that comes from the second-level cache
  double call = 0;    // a tile, beside its steps of depth
  double line = 0;    // a row of a tile's results, if it is streamed
};

// Cycles of one step of the depth with `rows` x `vectors` accumulators.
double tile_cycles(int64_t rows, int64_t vectors, const TileCosts& costs) {
  const auto products = static_cast<double>(rows * vectors);
  const auto loads = static_cast<double>(rows + vectors);
  const double columns = static_cast<double>(vectors) * costs.column;
  return std::max(
      {products * costs.each, loads / machine::kLoadsPerCycle, columns, machine::kLatency});
}

// The columns of a tile cost nothing extra if they fit, over all of the depth, into half of the
// first-level cache: all row tiles but the first then find them there.
TileCosts tile_costs(const ProductShape& shape, const ProductPolicy& policy, const Device& device,
                     double each, double call) {
  const int64_t width = int64_t{policy.vectors} * policy.lanes;
  const bool stay = shape.depth * width * info(shape.dtype).bytes <= device.caches[0].bytes / 2;
  // Streaming costs per row of a tile, so wider tiles stream better.
  return {each, stay ? 0 : machine::kColumnFromL2 * each, call,
          policy.streaming ? machine::kStreamedLine * each : 0};
}

// Cycles of all tiles of one outer point: whole ones and those at the edges.
double all_cycles(const ProductShape& shape, const ProductPolicy& policy, const TileCosts& costs) {
  const int64_t row_tiles = ceil_div(shape.line, int64_t{policy.rows});
  const int64_t high = shape.line % row_tiles;  // tiles with one row more than the others
  const int64_t low_rows = shape.line / row_tiles;
  const int64_t width = int64_t{policy.vectors} * policy.lanes;
  const int64_t whole = shape.columns / width;
  const int64_t rest = ceil_div(shape.columns - whole * width, int64_t{policy.lanes});
  const auto along = [&](int64_t r) {
    double cycles = static_cast<double>(whole) * tile_cycles(r, policy.vectors, costs);
    if (rest > 0) cycles += tile_cycles(r, rest, costs);
    return cycles;
  };
  const double depth = static_cast<double>(shape.depth);
  const int64_t across = whole + (rest > 0 ? 1 : 0);
  const double tiles = static_cast<double>(row_tiles * across);
  const double pieces = static_cast<double>(shape.line * across);
  const double line = depth * (static_cast<double>(high) * along(low_rows + 1) +
                               static_cast<double>(row_tiles - high) * along(low_rows)) +
                      tiles * costs.call + pieces * costs.line;
  const int64_t lines = shape.rows / shape.line;
  return line * static_cast<double>(lines);
}

void choose_tile(ProductPolicy& policy, const ProductShape& shape, const Device& device) {
  const int64_t most_rows =
      std::min<int64_t>(shape.line, shape.left == Side::direct ? kMostDirectRows : kMostTileRows);
  // Elements of a direct left side are loaded ahead of their use.
  const int left_registers = shape.left == Side::direct ? 2 : 1;
  double best = INFINITY;
  for (int vectors = 1; vectors <= kMostTileVectors; ++vectors) {
    for (int rows = 1; rows <= most_rows; ++rows) {
      if (rows * vectors + vectors + left_registers > device.vector_registers) continue;
      if (shape.transformed && shape.columns % (vectors * policy.lanes) != 0) continue;
      if (vectors > 1 && (vectors - 1) * policy.lanes >= shape.columns) continue;
      ProductPolicy tile = policy;
      tile.rows = rows;
      tile.vectors = vectors;
      const TileCosts costs =
          tile_costs(shape, tile, device, machine::kScalarCycles, machine::kTileCycles);
      const double cycles = all_cycles(shape, tile, costs);
      const double cost = cycles * (1 + kLoadWeight * (1.0 / rows + 1.0 / vectors));
      if (cost < best) {
        best = cost;
        policy.rows = rows;
        policy.vectors = vectors;
      }
    }
  }
}

int64_t multiple(int64_t count, int64_t step, int64_t all) {
  return std::min(all, std::max(step, count / step * step));
}

}  // namespace

ProductShape product_shape(const Workload& workload, const Stage& stage, const Contraction& c) {
  const Shape extents = stage.extents();
  ProductShape shape{
      c.outer_count, c.row_count,  c.column_count,           c.depth_count, 1, 1, c.row_count,
      Side::direct,  Side::packed, stage.elements[0].dtype()};
  if (is_constant(workload, c.left)) {
    shape.left = Side::prepacked;
  } else {
    const auto left = access_pattern(workload, stage, c, c.left);
    if (left->rows.size() > 1) shape.line = left->rows.back().extent;
    if (left->depth.size() > 1) shape.depth_step = left->depth.back().extent;
  }
  shape.left_elements = shape.rows * shape.depth;
  if (c.left->op == ExprOp::load) {
    const auto& read = workload.values[static_cast<size_t>(c.left->id)].type.shape;
    shape.left_elements = std::min(shape.left_elements, element_count(read));
  }
  const auto right = matrix_load(workload, stage, c, c.right);
  if (is_constant(workload, c.right)) shape.right = Side::prepacked;
  else if (right && right->column_stride == 1) shape.right = Side::direct;
  if (shape.right == Side::packed) {
    shape.column_step = c.column_count / extents[c.columns[0]];
    shape.depth_step = c.depth_count / extents[c.depth[0]];
  }
  return shape;
}

ProductShape product_shape(const Winograd& w, int side) {
  const int64_t rows = winograd_tiles(w, side);
  ProductShape shape{1, rows, w.filters,    w.channels,      1,
                     1, rows, Side::direct, Side::prepacked, DType::f32};
  shape.left_elements = rows * w.channels;
  shape.transformed = true;
  return shape;
}

ProductPolicy default_transformed(const ProductShape& shape, bool strassen, const Device& device) {
  ProductPolicy policy;
  policy.lanes = dot_of(shape.dtype, device)->lanes(device.vector_bytes);
  if (strassen) {
    while (shape.columns % policy.lanes != 0) policy.lanes /= 2;
    choose_tile(policy, shape, device);
  } else {
    // Narrow tiles that divide the filters: all rows share the weights that are fetched for them.
    policy.vectors = shape.columns % (int64_t{2} * policy.lanes) == 0 ? 2 : 1;
    const int free = device.vector_registers - policy.vectors - 2;
    policy.rows = static_cast<int>(
        std::min<int64_t>(shape.rows, std::min(kMostTransformedRows, free / policy.vectors)));
  }
  policy.depth = shape.depth;
  policy.columns = int64_t{policy.vectors} * policy.lanes;
  policy.columns_first = true;
  policy.prefetch = !machine::has_column_prefetcher(device);
  return policy;
}

double product_cycles(const ProductShape& shape, const ProductPolicy& policy, const Device& device,
                      double each) {
  const TileCosts costs = tile_costs(shape, policy, device, each, machine::kNextTileCycles);
  return static_cast<double>(shape.outer) * all_cycles(shape, policy, costs);
}

bool is_worth_streaming(const ProductShape& shape, const Device& device) {
  return machine::exceeds_caches(
      device, shape.outer * shape.rows * shape.columns * info(shape.dtype).bytes);
}

ProductPolicy default_product(const ProductShape& shape, const Device& device) {
  ProductPolicy policy;
  const int bytes = info(shape.dtype).bytes;
  policy.lanes = most_lanes(shape, device);
  policy.streaming = is_worth_streaming(shape, device);
  choose_tile(policy, shape, device);

  const int64_t width = int64_t{policy.vectors} * policy.lanes;
  // Elements in half of the second-level cache: a block must stay there.
  const int64_t room = machine::second_level_bytes(device) / 2 / bytes;
  const int64_t deepest = shape.depth > kDeep ? kPartOfDeep : shape.depth;
  if (shape.right == Side::packed) {
    const int64_t columns =
        std::min(shape.columns, std::max(kLeastPackedTiles * width, shape.column_step));
    policy.depth = multiple(std::min(room / columns, deepest), shape.depth_step, shape.depth);
    // A single depth block needs no partial sums; half of the room is left for the results.
    const int64_t block = policy.depth == shape.depth ? room / 2 : room;
    policy.columns = multiple(block / policy.depth, shape.column_step, shape.columns);
    return policy;
  }
  policy.depth = multiple(std::min(room / 2 / width, deepest), shape.depth_step, shape.depth);
  policy.columns_first = shape.left_elements <= room;
  policy.columns =
      policy.columns_first ? shape.columns : multiple(room / policy.depth, width, shape.columns);
  // With several row tiles, the next weights are prefetched while these are used. With one (`once`)
  // weights are used once, so the depth is not blocked; prefetching pays if they come from beyond
  // the second-level cache (`far`).
  const bool once = shape.rows <= policy.rows;
  const bool far =
      shape.outer * shape.depth * shape.columns * bytes > machine::second_level_bytes(device);
  if (once && shape.right == Side::prepacked) {
    policy.depth = multiple(deepest, shape.depth_step, shape.depth);
  }
  const bool shared = shape.right == Side::prepacked && !machine::has_column_prefetcher(device);
  policy.prefetch = policy.columns_first && (once ? far && policy.columns > width : shared);
  return policy;
}

}  // namespace aoe

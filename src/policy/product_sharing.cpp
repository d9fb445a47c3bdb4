#include "policy/product_sharing.h"

#include <algorithm>

#include "device/machine_model.h"

namespace aoe {
namespace {

// Utilization of the threads when they divide `pieces` equal pieces.
double used(int64_t pieces, int threads) {
  return static_cast<double>(pieces) / static_cast<double>(ceil_div(pieces, threads) * threads);
}

ProductSharing pieces_of(const ProductShape& shape, const ProductPolicy& policy, int64_t row_tiles,
                         int threads) {
  const ProductSharing as_decided{policy.columns, 1};
  const ProductSharing by_rows{policy.columns, std::min<int64_t>(row_tiles, threads)};
  if (threads == 1 || policy.share == Share::blocks) return as_decided;
  if (policy.share == Share::rows) return by_rows;
  // Enough outer points to divide.
  if (policy.share == Share::automatic && shape.outer >= 4 * threads) return as_decided;
  const int64_t blocks = ceil_div(shape.columns, policy.columns);
  const double blocks_used = used(shape.outer * blocks, threads);
  if (shape.right == Side::packed && policy.share == Share::automatic) {
    // Each part of the rows packs a block again, so rows are divided only if blocks leave threads
    // idle.
    return shape.outer * blocks >= 4 * threads || blocks_used == 1 ? as_decided : by_rows;
  }
  // Narrower blocks consist of the same tiles if they end at the edges of tiles.
  const int64_t width = int64_t{policy.vectors} * policy.lanes;
  const bool narrows = shape.right != Side::packed && width % shape.column_step == 0 &&
                       (blocks == 1 || policy.columns % width == 0);
  const int64_t panels = ceil_div(shape.columns, width);
  const double rows_used = used(shape.outer * row_tiles, threads);
  const double columns_used = narrows ? used(shape.outer * panels, threads) : blocks_used;
  // A thread with a part of the rows reads all of the right side. A thread with a part of the
  // columns reads all of the left side, and its results are in the wrong cache for the next step,
  // which mostly divides rows.
  const bool large_right = shape.depth * shape.columns > shape.rows * (shape.depth + shape.columns);
  constexpr double kAsGood = 0.9;
  const bool rows =
      large_right ? kAsGood * rows_used > columns_used : rows_used >= kAsGood * columns_used;
  if (rows && policy.share != Share::columns) return by_rows;
  if (!narrows) return as_decided;
  return {std::min(policy.columns, ceil_div(panels, threads) * width), 1};
}

}  // namespace

ProductSharing product_sharing(const ProductShape& shape, const ProductPolicy& policy,
                               int64_t row_tiles, int threads) {
  ProductSharing sharing = pieces_of(shape, policy, row_tiles, threads);
  const int64_t pieces = shape.outer * sharing.row_parts * ceil_div(shape.columns, sharing.columns);
  const int64_t macs = shape.outer * shape.rows * shape.columns * shape.depth;
  sharing.grain = ceil_div(machine::kProductsWorthSharing,
                           std::max<int64_t>(1, macs / std::max<int64_t>(1, pieces)));
  return sharing;
}

}  // namespace aoe

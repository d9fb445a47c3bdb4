#include <algorithm>

#include "device/machine_model.h"
#include "policy/contraction.h"
#include "policy/loop_defaults.h"
#include "policy/packing.h"
#include "policy/product_sharing.h"
#include "program/builder.h"

// A contraction as a blocked product of matrices:
//
//   parallel task                      # outer point x part of the rows x block of columns
//     for depth by the policy's depth
//       nest                           # packs the block of the right side, if it has to be
//       product                        # tiles of rows x tiles of columns
//
// and the same for a strip of rows, inside somebody else's parallel loop.

namespace aoe {
namespace {

// Where the position lies that is counted over all levels.
int64_t offset_at(const std::vector<Level>& levels, int64_t position) {
  int64_t offset = 0;
  for (size_t i = levels.size(); i-- > 0; position /= levels[i].extent) {
    offset += (i == 0 ? position : position % levels[i].extent) * levels[i].stride;
    if (i == 0) break;
  }
  return offset;
}

class Product {
 public:
  Product(ProgramBuilder& builder, const ProductItem& item, const ProductPolicy& policy)
      : b_(builder),
        item_(item),
        stage_(builder.workload.stages[item.stage]),
        c_(*contraction_of(stage_)),
        shape_(item.shape),
        policy_(policy),
        tiles_(shape_.rows, shape_.line, policy.rows) {
    call_ = b_.product(shape_.dtype, policy);
    call_.rows = shape_.rows;
    call_.line = shape_.line;
    call_.columns_first = policy.columns_first;
    call_.out_row = shape_.columns;
    out_ = b_.value(stage_.outputs[0]);
    describe_left();
    describe_right();
    call_.tile.split = policy.depth < shape_.depth;
    if (call_.tile.split) {
      sums_ = b_.thread(call_.tile.dot.sum, shape_.rows * policy.columns);
      call_.sums_row = policy.columns;
    }
  }

  // Some tiles of rows of an outer point, for a block of columns. `wide`: how many there may be.
  std::vector<Stmt> block(const Expr& outer, Index first_tile, Index last_tile, const Expr& column,
                          const Expr& columns, const std::vector<int64_t>& wide) {
    ProductCall call = call_;
    call.first_tile = std::move(first_tile);
    call.last_tile = std::move(last_tile);
    call.columns = columns;
    For over_depth = b_.loop(shape_.depth);
    over_depth.step = policy_.depth;
    const bool split = call.tile.split;
    const Expr k = split ? over_depth.index() : Expr::integer(DType::i64, 0);
    const Expr deep =
        split ? min(shape_.depth - k, policy_.depth) : Expr::integer(DType::i64, shape_.depth);
    call.depth = deep;
    b_.add_result(call, stage_, c_, outer, column);
    set_streaming(call.tile);
    place_left(call, outer, k);
    place_right(call, outer, column, k);
    call.out = out_;
    call.out.offset = call.out.offset.expr + outer * (shape_.rows * shape_.columns) + column;
    if (split) {
      call.sums = sums_;
      call.continues = lt(Expr::integer(DType::i64, 0), k);
      // Not before the last block has been added.
      call.finishes = lt(Expr::integer(DType::i64, shape_.depth), k + deep + 1);
    }
    b_.add_tiles(call, {shape_.rows}, wide);
    std::vector<Stmt> body;
    if (shape_.right == Side::packed) add_packing(body, outer, k, deep, column, columns);
    body.emplace_back(std::move(call));
    if (!split) return body;
    over_depth.body = std::move(body);
    std::vector<Stmt> result;
    result.emplace_back(std::move(over_depth));
    return result;
  }

  For parallel() {
    const ProductSharing by = product_sharing(shape_, policy_, tiles_.count, b_.program.threads);
    const int64_t blocks = ceil_div(shape_.columns, by.columns);
    For loop = b_.loop(shape_.outer * by.row_parts * blocks, true);
    loop.grain = by.grain;
    const Expr task = loop.index();
    const bool one = shape_.outer * by.row_parts == 1;
    const Expr column = (one && blocks > 1 ? task : remainder(task, blocks)) * by.columns;
    const Expr columns = blocks == 1 ? Expr::integer(DType::i64, shape_.columns)
                                     : min(shape_.columns - column, by.columns);
    const Expr parts = quotient(task, blocks);
    const Expr part = shape_.outer == 1 ? parts : remainder(parts, by.row_parts);
    Index first, last;
    if (by.row_parts > 1) {
      first = quotient(part * tiles_.count, by.row_parts);
      last = quotient((part + 1) * tiles_.count, by.row_parts);
    }
    const Expr outer =
        shape_.outer == 1 ? Expr::integer(DType::i64, 0) : quotient(task, blocks * by.row_parts);
    loop.body = block(outer, first, last, column, columns,
                      {by.columns, (shape_.columns - 1) % by.columns + 1});
    return loop;
  }

  // The strip's points are outer points first, then parts of the rows.
  std::vector<Stmt> strip(const Strip& strip) {
    std::vector<Stmt> body;
    const int64_t outer_points = std::min(strip.points, shape_.outer);
    const int64_t parts = strip.points / outer_points;
    const int64_t each = shape_.outer / outer_points;
    For over_outer = b_.loop(each);
    For over_columns = b_.loop(shape_.columns);
    over_columns.step = policy_.columns;
    Expr outer = outer_points == 1 ? Expr::integer(DType::i64, 0) : quotient(strip.point, parts);
    if (each > 1) outer = outer * each + over_outer.index();
    const Expr part = outer_points == 1 ? strip.point : remainder(strip.point, parts);
    const int64_t row_tiles = tiles_.count / parts;
    const Expr column = over_columns.index();
    const bool blocked = policy_.columns < shape_.columns;
    body = block(outer, part * row_tiles, part * row_tiles + row_tiles,
                 blocked ? column : Expr::integer(DType::i64, 0),
                 blocked ? min(shape_.columns - column, policy_.columns)
                         : Expr::integer(DType::i64, shape_.columns),
                 {policy_.columns, (shape_.columns - 1) % policy_.columns + 1});
    for (For* loop : {blocked ? &over_columns : nullptr, each > 1 ? &over_outer : nullptr}) {
      if (loop == nullptr) continue;
      loop->body = std::move(body);
      body.clear();
      body.emplace_back(std::move(*loop));
    }
    return body;
  }

 private:
  void describe_left() {
    if (shape_.left == Side::fixed) {
      PackedWeights left = b_.packed(item_.stage, c_, c_.left, c_.rows, c_.depth);
      left.depth = shape_.depth;
      left.width = shape_.rows;
      left.depth_stride = 1;
      left.width_stride = shape_.depth;
      for (int64_t t = 0; t < tiles_.count; ++t) left.uneven.push_back(tiles_.first(t));
      left_ = b_.weights(call_.tile.dot.left, std::move(left));
      call_.tile.packed_left = true;
      call_.left_row = shape_.depth;
      return;
    }
    walk_ = *walk_of(b_.workload, stage_, c_, c_.left);
    left_ = b_.value(walk_.value);
    call_.left_row = walk_.rows.empty() ? 0 : walk_.rows.back().stride;
    call_.left_depth = walk_.depth.empty() ? 0 : walk_.depth.back().stride;
    call_.lines.clear();
    for (int64_t row = 0; row < shape_.rows; row += shape_.line) {
      call_.lines.push_back(offset_at(walk_.rows, row));
    }
    call_.tile.pieces = walk_.depth.size() > 1;
    if (!call_.tile.pieces) return;
    call_.piece = walk_.depth.back().extent;
    call_.pieces.clear();
    for (int64_t k = 0; k < shape_.depth; k += call_.piece) {
      call_.pieces.push_back(offset_at(walk_.depth, k));
    }
  }

  void describe_right() {
    const int64_t width = call_.tile.width();
    call_.tile.guarded = shape_.right == Side::direct;
    call_.right_panel = width;
    if (shape_.right == Side::fixed) {
      PackedWeights right = b_.packed(item_.stage, c_, c_.right, c_.depth, c_.columns);
      right.depth = shape_.depth;
      right.width = shape_.columns;
      right.depth_stride = shape_.columns;
      right.panel = width;
      right_elements_ = right.elements();
      right_ = b_.weights(call_.tile.dot.right, std::move(right));
      call_.right_depth = width;
      call_.right_panel = shape_.depth * width;
    } else if (shape_.right == Side::direct) {
      direct_ = *matrix_load(b_.workload, stage_, c_, c_.right);
      right_ = b_.value(direct_.value);
      call_.right_depth = direct_.depth_stride;
    } else {
      make_packing();
    }
  }

  void make_packing() {
    const int64_t pitch =
        padded_pitch(ceil_div(policy_.columns, int64_t{policy_.lanes}) * policy_.lanes,
                     shape_.dtype, policy_.lanes);
    packing_ = packing_of(b_.workload, stage_, c_, pitch);
    packing_.nest = decided(std::move(packing_.nest), packing_policy(packing_, policy_, b_.device));
    call_.right_depth = pitch;
    right_ = b_.thread(call_.tile.dot.right, policy_.depth * pitch);
  }

  // Results may go past the caches if every vector of them is aligned, given that the first is.
  void set_streaming(Tile& tile) const {
    const int64_t vector = int64_t{policy_.lanes} * info(tile.out_dtype).bytes;
    tile.streaming = policy_.streaming && vector == b_.device.vector_bytes &&
                     shape_.columns % policy_.lanes == 0 && policy_.columns % policy_.lanes == 0;
  }

  void place_left(ProductCall& call, const Expr& outer, const Expr& k) {
    call.left = left_;
    call.first_depth = k;
    if (shape_.left == Side::fixed) {
      const auto steps = outer_steps(stage_, c_.outer, c_.left);
      call.left.offset = along(outer, stage_.axes, c_.outer, steps) * (shape_.rows * shape_.depth);
      return;
    }
    call.left.offset = call.left.offset.expr + walk_.base +
                       along(outer, stage_.axes, c_.outer, walk_.outer_strides);
    if (!call.tile.pieces) call.left.offset = call.left.offset.expr + k * call.left_depth;
  }

  // Also what is fetched meanwhile: the next panel, shared by the tiles of rows; or, if one tile
  // of rows has it for itself or it lies as it comes, a little further on in what lies in one
  // piece, the next matrix from its start to its end, or the columns beside these.
  void place_right(ProductCall& call, const Expr& outer, const Expr& column, const Expr& k) {
    const int64_t width = call.tile.width();
    call.right = right_;
    if (shape_.right == Side::fixed) {
      const auto steps = outer_steps(stage_, c_.outer, c_.right);
      call.right.offset = along(outer, stage_.axes, c_.outer, steps) * right_elements_ +
                          column * shape_.depth + k * width;
    } else if (shape_.right == Side::direct) {
      call.right.offset = direct_offset(outer) + column + k * call.right_depth;
    }
    call.tile.fetch_lines = policy_.prefetch && (shape_.right == Side::direct || tiles_.count == 1);
    call.tile.prefetch = policy_.prefetch && !call.tile.fetch_lines;
    if (!policy_.prefetch) return;
    call.prefetch = call.right;
    call.prefetch_panel = call.right_panel;
    if (call.tile.prefetch) {
      call.prefetch.offset = call.right.offset.expr + shape_.depth * width;
      return;
    }
    call.prefetch_depth = width;
    if (shape_.right == Side::fixed) {
      call.prefetch.offset = call.right.offset.expr + machine::kPrefetchSteps * width;
    } else if (shape_.depth * shape_.columns * info(shape_.dtype).bytes <=
               machine::kLargestPrefetched) {
      const Expr next = shape_.outer == 1 ? outer : min(outer + 1, shape_.outer - 1);
      call.prefetch.offset = direct_offset(next);
      call.prefetch_panel = shape_.depth * width;
    } else {
      call.prefetch.offset = call.right.offset.expr + width;
      call.prefetch_depth = call.right_depth;
    }
  }

  Expr direct_offset(const Expr& outer) const {
    return right_.offset.expr + direct_.base +
           along(outer, stage_.axes, c_.outer, direct_.outer_strides);
  }

  // The nest counts from the beginning of the whole, the block begins here.
  void add_packing(std::vector<Stmt>& body, const Expr& outer, const Expr& k, const Expr& deep,
                   const Expr& column, const Expr& columns) {
    Access own = right_;
    own.offset = 0 - (k * call_.right_depth + column);
    const Expr first = outer * (shape_.depth / shape_.depth_step) + quotient(k, shape_.depth_step);
    const Expr from = quotient(column, shape_.column_step);
    const Expr to = quotient(column + columns, shape_.column_step);
    const Expr count = quotient(deep, shape_.depth_step);
    if (!packing_.by_rows) {
      NestCall call = b_.nest(packing_.nest, first, first + count, own);
      call.from = from;
      call.to = to;
      body.emplace_back(std::move(call));
      return;
    }
    const int64_t strips = shape_.columns / shape_.column_step;
    For windows = b_.loop(first + count);
    windows.begin = first;
    const Expr window = windows.index() * strips;
    windows.body.emplace_back(b_.nest(packing_.nest, window + from, window + to, own));
    body.emplace_back(std::move(windows));
  }

  ProgramBuilder& b_;
  const ProductItem& item_;
  const Stage& stage_;
  Contraction c_;
  const ProductShape& shape_;
  const ProductPolicy& policy_;
  RowTiles tiles_;
  ProductCall call_;  // what all blocks have in common
  Access left_, right_, out_, sums_;
  Walk walk_;
  MatrixLoad direct_;
  int64_t right_elements_ = 0;
  Packing packing_;
};

}  // namespace

For product_program(ProgramBuilder& builder, const ProductItem& item, const ProductPolicy& policy) {
  return Product(builder, item, policy).parallel();
}

std::vector<Stmt> product_strip(ProgramBuilder& builder, const ProductItem& item,
                                const ProductPolicy& policy, const Strip& strip) {
  return Product(builder, item, policy).strip(strip);
}

}  // namespace aoe

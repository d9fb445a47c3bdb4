#include <algorithm>

#include "device/machine_model.h"
#include "policy/contraction.h"
#include "policy/loop_defaults.h"
#include "policy/packing.h"
#include "policy/product_sharing.h"
#include "program/program_builder.h"

// A contraction as a blocked matrix product C = A B (Goto & van de Geijn 2008, BLIS):
//
//   parallel task                      # outer point x part of the rows x block of nc columns
//     for depth by kc
//       nest                           # packs the kc x nc block of B, if B has to be packed
//       product                        # macro-kernel: tiles of mr x nr
//
// and the same for a strip of rows, inside the parallel loop of its caller (Product::strip).
//
//   BLIS   here                   what bounds it by default (policy/product_defaults.cpp)
//   mr     policy.rows            registers: mr x nr / lanes accumulators, nr / lanes vectors of B
//   nr     vectors x lanes        registers, likewise
//   kc     policy.depth           a kc x nr panel of B takes at most 1/4 of the second-level cache
//   nc     policy.columns         a packed kc x nc block of B takes at most 1/2 of it
//   mc     rows of the task       nothing: A is not packed at run time, but prepacked or in place
//
//                 nc columns                          memory of a side
//              +----+----+----+
//     B     kc |    | nr |    |       prepacked B  [panel of nr][k][nr], the last padded with zeros
//              +----+----+----+       packed B     [k][pitch], one block of a thread
//       kc                            direct B     [k][...] in place, columns contiguous
//     +----+   +----+----+----+
//  mr | A  |   |    |tile|    |       prepacked A  [tile of mr][k][mr], tiles as high as they are
//     +----+   +----+----+----+       direct A     rows in lines, the depth in pieces
//     |    |   |    |    |    |                    (policy/contraction.cpp)
//     +----+   +----+----+----+
//
// Packed blocks are not divided into panels: the packing nest writes consecutive rows of nc columns
// fastest, and a row is a whole number of vectors.
//
// In reading order: the constructor and describe_left/right set the fields of `call_` that all
// blocks have in common; block() builds the statements of one task, with place_left/right and
// add_packing; parallel() and strip() put loops around it.
//
// Invariant: offsets count from the beginning of the whole matrix. A call on a part shifts the
// base address (Access::offset), which may then lie before the buffer.

namespace aoe {
namespace {

// Partial sums of more parts of the depth are kept in f64. Equal parts, all of whose additions
// round the same way, then lose no digits; fewer lose at most 1e-6.
constexpr int64_t kMostFloatParts = 16;

// The longest part of the depth that is summed in one chain of f32 additions. Larger blocks of a
// policy are divided: whatever a search chooses, all-positive terms must keep their digits.
constexpr int64_t kDeepestFloatPart = 4096;

ProductPolicy with_bounded_parts(ProductPolicy policy, const ProductShape& shape) {
  if (shape.dtype != DType::f32 || policy.depth <= kDeepestFloatPart) return policy;
  policy.depth = std::max(kDeepestFloatPart / shape.depth_step, int64_t{1}) * shape.depth_step;
  return policy;
}

// The offset of a linear position over all strides, the last one fastest.
int64_t offset_at(const std::vector<Stride>& strides, int64_t position) {
  int64_t offset = 0;
  for (size_t i = strides.size(); i-- > 0; position /= strides[i].extent) {
    offset += (i == 0 ? position : position % strides[i].extent) * strides[i].stride;
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
        policy_(with_bounded_parts(policy, item.shape)),
        tiles_(shape_.rows, shape_.line, policy.rows) {
    call_ = b_.product(shape_.dtype, policy);
    call_.rows = shape_.rows;
    call_.line = shape_.line;
    call_.columns_first = policy.columns_first;
    call_.out_row = shape_.columns;
    out_ = b_.value(stage_.outputs[0]);
    describe_left();
    describe_right();
    // With kc < k, partial sums are in memory of the thread between two blocks of the depth. They
    // are not kept in the result, which may have another type, and on which an epilogue runs.
    call_.tile.split = policy_.depth < shape_.depth;
    if (call_.tile.split) {
      call_.tile.wide_sums =
          call_.tile.dtype() == DType::f32 && shape_.depth > kMostFloatParts * policy_.depth;
      sums_ = b_.thread(call_.tile.sums_dtype(), shape_.rows * policy.columns);
      call_.sums_row = policy.columns;
    }
  }

  // Computes the row tiles from `first_tile` to `last_tile` of an outer point, for a block of
  // columns. `wide`: the widths that the block can have, for each of which tiles are compiled.
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
      // The epilogue runs with the last block of the depth: k + deep >= depth.
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

  // task = (outer * row_parts + part) * blocks + block. A thread takes consecutive tasks: the
  // blocks of one part of the rows follow each other, and its rows of A stay in the thread's cache.
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

  // Strips are numbered by outer points first, then by parts of the rows. There are either fewer
  // strips than outer points, and each computes several (`each`), or at least as many, and the row
  // tiles of an outer point are divided into `parts`. Columns and depth are loops inside the strip.
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
    if (shape_.left == Side::prepacked) {
      PackedWeights left = b_.packed(item_.stage, c_, c_.left, c_.rows, c_.depth);
      left.depth = shape_.depth;
      left.width = shape_.rows;
      left.depth_stride = 1;
      left.width_stride = shape_.depth;
      // One panel for each row tile. Tiles differ in height by at most one row; panels are as high
      // as their tile, without padding.
      for (int64_t t = 0; t < tiles_.count; ++t) left.uneven.push_back(tiles_.first(t));
      left_ = b_.weights(call_.tile.dot.left, std::move(left));
      call_.tile.packed_left = true;
      call_.left_row = shape_.depth;
      return;
    }
    // In place: the innermost stride goes into the call, the outer ones into tables with the offset
    // of each line of rows and each piece of the depth.
    pattern_ = *access_pattern(b_.workload, stage_, c_, c_.left);
    left_ = b_.value(pattern_.value);
    call_.left_row = pattern_.rows.empty() ? 0 : pattern_.rows.back().stride;
    call_.left_depth = pattern_.depth.empty() ? 0 : pattern_.depth.back().stride;
    call_.lines.clear();
    for (int64_t row = 0; row < shape_.rows; row += shape_.line) {
      call_.lines.push_back(offset_at(pattern_.rows, row));
    }
    call_.tile.pieces = pattern_.depth.size() > 1;
    if (!call_.tile.pieces) return;
    call_.piece = pattern_.depth.back().extent;
    call_.pieces.clear();
    for (int64_t k = 0; k < shape_.depth; k += call_.piece) {
      call_.pieces.push_back(offset_at(pattern_.depth, k));
    }
  }

  // Only a direct B is guarded: panels and packed rows have room for columns beyond the last.
  void describe_right() {
    const int64_t width = call_.tile.width();
    call_.tile.guarded = shape_.right == Side::direct;
    call_.right_panel = width;
    if (shape_.right == Side::prepacked) {
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

  // Streaming stores need aligned addresses. The executor checks the first vector; this checks that
  // all others are then aligned too: rows and blocks are whole numbers of vectors.
  void set_streaming(Tile& tile) const {
    const int64_t vector = int64_t{policy_.lanes} * info(tile.out_dtype).bytes;
    tile.streaming = policy_.streaming && vector == b_.device.vector_bytes &&
                     shape_.columns % policy_.lanes == 0 && policy_.columns % policy_.lanes == 0;
  }

  void place_left(ProductCall& call, const Expr& outer, const Expr& k) {
    call.left = left_;
    call.first_depth = k;
    if (shape_.left == Side::prepacked) {
      const auto steps = outer_steps(stage_, c_.outer, c_.left);
      call.left.offset = along(outer, stage_.axes, c_.outer, steps) * (shape_.rows * shape_.depth);
      return;
    }
    call.left.offset = call.left.offset.expr + pattern_.base +
                       along(outer, stage_.axes, c_.outer, pattern_.outer_strides);
    if (!call.tile.pieces) call.left.offset = call.left.offset.expr + k * call.left_depth;
  }

  // Sets the address of B, and of the data that is prefetched while a tile runs:
  //   prepacked, several row tiles       the next panel, of which each tile fetches a part
  //   prepacked, one row tile            the same panel, kPrefetchSteps steps of depth ahead: it is
  //                                      used once, and no other tile could fetch it
  //   direct, small matrices             the next outer point's matrix, front to back
  //   direct, otherwise                  the next nr columns, at the same step of the depth
  void place_right(ProductCall& call, const Expr& outer, const Expr& column, const Expr& k) {
    const int64_t width = call.tile.width();
    call.right = right_;
    if (shape_.right == Side::prepacked) {
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
    if (shape_.right == Side::prepacked) {
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

  // The packing nest writes element (k, column) to k * pitch + column of the whole matrix. The
  // block begins at its first element, so the base address is shifted back. Outer points of the
  // nest are windows (the first axis of the depth); by rows, also the first axis of the columns.
  void add_packing(std::vector<Stmt>& body, const Expr& outer, const Expr& k, const Expr& deep,
                   const Expr& column, const Expr& columns) {
    Access scratch = right_;
    scratch.offset = 0 - (k * call_.right_depth + column);
    const Expr first = outer * (shape_.depth / shape_.depth_step) + quotient(k, shape_.depth_step);
    const Expr from = quotient(column, shape_.column_step);
    const Expr to = quotient(column + columns, shape_.column_step);
    const Expr count = quotient(deep, shape_.depth_step);
    if (!packing_.by_rows) {
      NestCall call = b_.nest(packing_.nest, first, first + count, scratch);
      call.from = from;
      call.to = to;
      body.emplace_back(std::move(call));
      return;
    }
    const int64_t strips = shape_.columns / shape_.column_step;
    For windows = b_.loop(first + count);
    windows.begin = first;
    const Expr window = windows.index() * strips;
    windows.body.emplace_back(b_.nest(packing_.nest, window + from, window + to, scratch));
    body.emplace_back(std::move(windows));
  }

  ProgramBuilder& b_;
  const ProductItem& item_;
  const Stage& stage_;
  Contraction c_;
  const ProductShape& shape_;
  const ProductPolicy policy_;
  RowTiles tiles_;
  ProductCall call_;  // the fields that all blocks have in common
  Access left_, right_, out_, sums_;
  AccessPattern pattern_;
  MatrixLoad direct_;
  int64_t right_elements_ = 0;
  Packing packing_;
};

}  // namespace

For product_program(ProgramBuilder& builder, const ProductItem& item, const ProductPolicy& policy) {
  return Product(builder, item, policy).parallel();
}

std::vector<Stmt> product_in_strip(ProgramBuilder& builder, const ProductItem& item,
                                   const ProductPolicy& policy, const Strip& strip) {
  return Product(builder, item, policy).strip(strip);
}

}  // namespace aoe

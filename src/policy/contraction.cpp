#include "policy/contraction.h"

#include <algorithm>
#include <numeric>

#include "device/dot.h"
#include "expr/affine.h"
#include "expr/rewrite.h"
#include "policy/packing.h"

// Recognizes matrix products in stages, and rewrites a workload so that they can run as products.
// In reading order:
//   contraction_of       sorts the axes of a stage into outer, rows, columns and depth
//   access_pattern       the strides of a load along these (matrix_load: one stride each)
//   ContractionRewriter  rewrites the stages of a workload, one by one:
//     add_contraction      brings both sides into a form that product code can read
//     add_reordered        permutes the output axes first, where they alternate
//     laid_out, padded     the two kinds of copies that are inserted in front of a product
//     add_with_results     splits off an epilogue that cannot be fused
//
// In the notation of Goto and BLIS (C = A B) rows are m, columns n and depth k, the left side is A
// and the right side B. Both convolutions below are the product after im2col, without writing the
// matrix of windows:
//
//            out[n, f, y, x] += w[f, c, i, j] * in[n, c, y + i, x + j]      NCHW
//   outer n | rows f | columns y, x | depth c, i, j     left = weights, right = windows
//
//            out[n, y, x, f] += in[n, y + i, x + j, c] * w[i, j, c, f]      NHWC
//   rows n, y, x | columns f | depth i, j, c            left = windows, right = weights
//
// Invariant: after every added stage the result computes the same values as the stages of the
// workload so far, each stage reads only values of stages before it, and `contracts`, `origins` and
// `constant` have one entry for each stage.

namespace aoe {
namespace {

std::vector<bool> axes_in(const Expr& expr, size_t count) {
  std::vector<bool> used(count);
  for_each_node(expr, [&](const Expr& e) {
    if (e->op == ExprOp::axis) used[static_cast<size_t>(e->id)] = true;
  });
  return used;
}

// The number of output axes without trailing ones of extent 1.
size_t axes_to_last(const Stage& stage) {
  size_t count = stage.axes.size();
  while (count > 0 && stage.axes[count - 1] == 1) --count;
  return count;
}

// Strides along `axes`, merged where contiguous: a tile can read a single stride in place.
std::vector<Stride> strides_of(const Shape& extents, const std::vector<size_t>& axes,
                               const std::vector<int64_t>& coefficients) {
  std::vector<Stride> strides;
  for (const size_t axis : axes) {
    if (extents[axis] == 1) continue;
    const Stride next{extents[axis], coefficients[axis]};
    // One step along the previous axis covers all of this one: both merge into one longer axis.
    const bool same = !strides.empty() && strides.back().stride == next.stride * next.extent;
    if (same) strides.back() = {strides.back().extent * next.extent, next.stride};
    else strides.push_back(next);
  }
  if (strides.size() == 1 && strides[0].stride == 0) strides.clear();
  return strides;
}

int64_t stride_of(const std::vector<Stride>& strides) {
  return strides.empty() ? 0 : strides[0].stride;
}

}  // namespace

std::optional<Contraction> contraction_of(const Stage& stage) {
  if (!stage.reducer || !is_sum(*stage.reducer) || stage.results.size() != 1) {
    return std::nullopt;
  }
  const Expr& element = stage.elements[0];
  const DType dtype = element.dtype();
  const bool sums =
      std::any_of(kDots.begin(), kDots.end(), [&](const Dot& dot) { return dot.left == dtype; });
  if (element->op != ExprOp::mul || !sums) return std::nullopt;
  const Shape extents = stage.extents();
  if (element_count(extents) == 0) return std::nullopt;
  Contraction c;
  c.left = element->operands[0];
  c.right = element->operands[1];
  auto in_left = axes_in(c.left, extents.size());
  auto in_right = axes_in(c.right, extents.size());
  const auto add = [&](size_t axis, std::vector<size_t>& axes, int64_t& count) {
    if (extents[axis] != 1) axes.push_back(axis);
    count *= extents[axis];
  };
  for (size_t axis = stage.axes.size(); axis < extents.size(); ++axis) {
    if (extents[axis] != 1 && !(in_left[axis] && in_right[axis])) return std::nullopt;
    add(axis, c.depth, c.depth_count);
  }

  // Multiplication commutes: the factor that depends on the last output axis becomes the right
  // side, so that vectors go along memory that the result has contiguous.
  const size_t last = axes_to_last(stage);
  if (last == 0 || in_left[last - 1] == in_right[last - 1]) return std::nullopt;
  if (in_left[last - 1]) {
    std::swap(c.left, c.right);
    std::swap(in_left, in_right);
  }
  // The first of the consecutive axes before `end` that only one side depends on.
  const auto first_of = [&](const std::vector<bool>& side, const std::vector<bool>& other,
                            size_t end) {
    while (end > 0 && (extents[end - 1] == 1 || (side[end - 1] && !other[end - 1]))) --end;
    return end;
  };
  const size_t first_column = first_of(in_right, in_left, last);
  const size_t first_row = first_of(in_left, in_right, first_column);
  for (size_t axis = 0; axis < stage.axes.size(); ++axis) {
    if (axis >= first_column) add(axis, c.columns, c.column_count);
    else if (axis >= first_row) add(axis, c.rows, c.row_count);
    else add(axis, c.outer, c.outer_count);
  }
  return c;
}

std::optional<AccessPattern> access_pattern(const Workload& workload, const Stage& stage,
                                            const Contraction& contraction, const Expr& load) {
  if (load->op != ExprOp::load || has_out_of_range_value(load)) return std::nullopt;
  const Shape extents = stage.extents();
  const Shape& shape = workload.type_of(load->id).shape;
  const auto offset = affine_offset(index_of(load), shape, extents.size());
  if (!offset || !stays_inside(index_of(load), shape, extents)) return std::nullopt;
  const std::vector<int64_t>& coefficients = offset->coefficients;
  AccessPattern pattern;
  pattern.value = static_cast<int>(load->id);
  pattern.base = offset->constant;
  for (const size_t axis : contraction.outer) pattern.outer_strides.push_back(coefficients[axis]);
  pattern.rows = strides_of(extents, contraction.rows, coefficients);
  pattern.columns = strides_of(extents, contraction.columns, coefficients);
  pattern.depth = strides_of(extents, contraction.depth, coefficients);
  return pattern;
}

std::optional<MatrixLoad> matrix_load(const Workload& workload, const Stage& stage,
                                      const Contraction& contraction, const Expr& load) {
  const auto pattern = access_pattern(workload, stage, contraction, load);
  if (!pattern || pattern->rows.size() > 1 || pattern->columns.size() > 1 ||
      pattern->depth.size() > 1) {
    return std::nullopt;
  }
  return MatrixLoad{static_cast<const LoadedMatrix&>(*pattern), stride_of(pattern->rows),
                    stride_of(pattern->columns), stride_of(pattern->depth)};
}

bool is_constant(const Workload& workload, const Expr& expr) {
  return !any_node(expr, [&](const Expr& e) {
    if (e->op != ExprOp::load) return false;
    const auto storage = static_cast<size_t>(workload.storage(static_cast<int>(e->id)));
    return !workload.values[storage].weight && workload.values[storage].constant.empty();
  });
}

namespace {

// Least multiply-adds of a product: with fewer, plain loops finish before the sides are laid out.
constexpr int64_t kFewProducts = 1 << 14;
// Least columns: one AVX vector of floats.
constexpr int64_t kFewColumns = 8;
// Least depth: one round of a tile's unrolled loop (kUnrolledDepth, tile_emitter.cpp).
constexpr int64_t kShallow = 4;
// Reordering adds a pass over the result, which must be cheap compared with the product: at least
// 16 multiply-adds per copied element, and enough of them that an additional item does not matter.
constexpr int64_t kWorthReordering = 1 << 20;
constexpr int64_t kDeepEnoughToReorder = 16;

// Least length of a piece: a tile looks up where each piece begins, which two rounds of its
// unrolled loop amortize.
constexpr int64_t kShortestPiece = 8;

class ContractionRewriter {
 public:
  ContractionRewriter(const Workload& workload, const std::vector<bool>& may,
                      const std::vector<bool>& as_they_are)
      : from_(workload), may_(may), as_they_are_(as_they_are) {
    result_.workload = workload;
    result_.workload.stages.clear();
  }

  RewrittenWorkload run() {
    for (current_ = 0; current_ < from_.stages.size(); ++current_) {
      const Stage& stage = from_.stages[current_];
      if (as_they_are_[current_]) {
        add(stage, true);
      } else if (!may_[current_] || (!add_contraction(stage) && !add_reordered(stage))) {
        add(with_weights_along_vectors(stage), false);
      }
    }
    return std::move(result_);
  }

 private:
  void add(Stage stage, bool contracts) {
    result_.workload.stages.push_back(std::move(stage));
    result_.contracts.push_back(contracts);
    result_.origins.push_back(current_);
    result_.constant.push_back(false);
  }

  // For a reduction that stays plain loops, whose vectors go along the last axis: weights with
  // another stride than 1 along it are transposed once, before the first run.
  Stage with_weights_along_vectors(Stage stage) {
    const size_t last = axes_to_last(stage);
    if (!stage.reducer || last == 0) return stage;
    const size_t vector = last - 1;
    const Shape extents = stage.extents();
    std::vector<size_t> order(extents.size());
    std::iota(order.begin(), order.end(), 0);
    std::rotate(order.begin() + static_cast<int64_t>(vector),
                order.begin() + static_cast<int64_t>(last), order.end());
    for (Expr& element : stage.elements) {
      element = rewrite(element, [&](const Expr& e) -> Expr {
        if (e->op != ExprOp::load || has_out_of_range_value(e) || !is_constant(result_.workload, e))
          return {};
        const auto strides = strides_of(stage, e);
        if (!strides || (*strides)[vector] == 0 || (*strides)[vector] == 1) return {};
        // A load under a select may be valid for a part of the loop only. The copy would evaluate
        // it everywhere.
        if (!stays_inside(index_of(e), shape_of(e), extents)) return {};
        const Expr moved = laid_out(stage, e, order);
        result_.constant.back() = true;
        return moved;
      });
    }
    return stage;
  }

  const Shape& shape_of(const Expr& load) const { return result_.workload.type_of(load->id).shape; }

  int add_value(DType dtype, Shape shape) {
    result_.workload.values.push_back(
        {.type = {dtype, std::move(shape)}, .view_of = -1, .constant = {}});
    return static_cast<int>(result_.workload.values.size()) - 1;
  }

  // Adds a stage without a reduction: `expr` for every point of these axes.
  void add(const Shape& axes, const Expr& expr, int output) {
    Stage stage;
    stage.axes = axes;
    stage.results = {expr};
    stage.outputs = {output};
    add(std::move(stage), false);
  }
  // The same into a new value. Returns the load of that value at `index`.
  Expr added(const Shape& axes, const Expr& expr, const std::vector<Expr>& index) {
    const int value = add_value(expr.dtype(), axes);
    add(axes, expr, value);
    return Expr::load(value, expr.dtype(), index);
  }

  bool add_contraction(Stage stage) {
    const auto c = contraction_of(stage);
    if (!c || c->column_count < kFewColumns || c->depth_count < kShallow) return false;
    if (c->outer_count * c->row_count * c->column_count * c->depth_count < kFewProducts)
      return false;
    const Workload& w = result_.workload;
    const bool left_constant = is_constant(w, c->left);
    const bool right_constant = is_constant(w, c->right);
    // Prepacked weights may have any order of the depth, so the left side determines it. Copying
    // comes first, because it changes the strides by which axes are sorted. The changed stage is
    // analysed again; each of the two rewrites applies to a stage at most once.
    if (right_constant && !left_constant &&
        (copy_depth_last(stage, *c) || sort_depth_by_left_strides(stage, *c))) {
      return add_contraction(std::move(stage));
    }
    const auto right = matrix_load(w, stage, *c, c->right);
    const bool right_direct =
        right && right->column_stride == 1 && c->right.dtype() == stage.elements[0].dtype();
    // Packing an element costs as much as a few multiply-adds, and each element is used once per
    // row.
    if (c->row_count < 4 && !right_direct && !right_constant) return false;

    Expr left = c->left;
    Expr side = c->right;
    const bool right_there = right_constant || right_direct;
    if (!right_there && !packs_by_rows(w, stage, *c)) side = padded(stage, side);
    if (!left_constant && !matrix_load(w, stage, *c, left)) {
      const auto there = right_constant ? in_pieces(stage, *c) : std::nullopt;
      left = there ? *there : laid_out(stage, left, joined(c->outer, c->rows, c->depth));
    }
    const bool looks_up =
        any_node(side, [](const Expr& e) { return e->op == ExprOp::load && is_lookup(e); });
    if (!right_there && (c->columns.size() == 1 || looks_up)) {
      // Packing splits columns into blocks along their first axis, so it needs a second one.
      // Lookups are evaluated once, not for each block. Both cases copy the whole side.
      side = laid_out(stage, side, joined(c->outer, c->depth, c->columns));
    }
    stage.elements[0] = left * side;
    add_with_results(std::move(stage));
    return true;
  }

  // The stride of a load along each axis, with or without padding; nothing if it is not affine.
  std::optional<std::vector<int64_t>> strides_of(const Stage& stage, const Expr& load) const {
    if (load->op != ExprOp::load) return std::nullopt;
    const auto offset = affine_offset(index_of(load), shape_of(load), stage.extents().size());
    return offset ? std::optional(offset->coefficients) : std::nullopt;
  }

  // If the left side is contiguous over less than kShortestPiece of the depth, copies it with the
  // dimensions of the depth innermost, as from NCHW to NHWC. Returns false if nothing changed.
  bool copy_depth_last(Stage& stage, const Contraction& c) {
    const int64_t piece = longest_piece(stage, c);
    if (piece == 0 || piece >= kShortestPiece) return false;
    // `last`: the dimensions that only depth axes index.
    std::vector<size_t> first;
    std::vector<size_t> last;
    for (size_t d = 0; d < static_cast<size_t>(c.left->rank); ++d) {
      const std::vector<bool> used = axes_in(c.left->operands[d], stage.extents().size());
      const auto at = std::find(used.begin(), used.end(), true);
      const bool by_depth =
          at != used.end() && at - used.begin() >= static_cast<int64_t>(stage.axes.size());
      (by_depth ? last : first).push_back(d);
    }
    if (last.empty() || first.empty() || first.back() < last.front()) return false;
    const Expr moved = padded(stage, c.left, joined(first, last));
    if (&*moved == &*c.left) return false;
    stage.elements[0] = moved * c.right;
    return true;
  }

  // Number of elements of the depth that are contiguous in the left side, in the best order of the
  // depth axes. An axis extends the piece if its stride is the piece's length; each round over all
  // axes finds at least the next one. 0 if the load is not affine.
  int64_t longest_piece(const Stage& stage, const Contraction& c) const {
    const auto strides = strides_of(stage, c.left);
    int64_t piece = strides ? 1 : 0;
    for (size_t round = 0; round < c.depth.size() && piece > 0; ++round) {
      for (const size_t axis : c.depth) {
        if ((*strides)[axis] == piece) piece *= stage.extents()[axis];
      }
    }
    return piece;
  }

  // Sorts the reduced axes by the left side's strides, largest outermost. Returns false if they are
  // sorted already.
  bool sort_depth_by_left_strides(Stage& stage, const Contraction& c) const {
    const auto strides = strides_of(stage, c.left);
    if (!strides) return false;
    const size_t first = stage.axes.size();
    std::vector<size_t> order(stage.reduce_axes.size());
    std::iota(order.begin(), order.end(), first);
    std::stable_sort(order.begin(), order.end(),
                     [&](size_t a, size_t b) { return (*strides)[a] > (*strides)[b]; });
    if (std::is_sorted(order.begin(), order.end())) return false;
    std::vector<Expr> to = axes_from(0, first + order.size());
    const Shape before = stage.reduce_axes;
    for (size_t i = 0; i < order.size(); ++i) {
      stage.reduce_axes[i] = before[order[i] - first];
      to[order[i]] = Expr::axis(first + i);
    }
    stage.elements[0] = with_axes(stage.elements[0], to);
    return true;
  }

  // Returns the left side as a load that tiles read in place, after writing out its padding. There
  // is no im2col matrix: rows come in lines, the depth in contiguous pieces. A 3 x 3 window over
  // NHWC has three pieces:
  //
  //     x            x+1          x+2          x+3
  //   +------------+------------+------------+------
  //   | c channels | c channels | c channels | ...      y        piece 0: 3 * c elements
  //   +------------+------------+------------+------
  //   | c channels | c channels | c channels | ...      y + 1    piece 1
  //   +------------+------------+------------+------
  //   | c channels | c channels | c channels | ...      y + 2    piece 2
  //
  // Returns nothing if pieces would be short or the load is not affine.
  std::optional<Expr> in_pieces(const Stage& stage, const Contraction& c) {
    if (c.left.dtype() != stage.elements[0].dtype() || longest_piece(stage, c) < kShortestPiece) {
      return std::nullopt;
    }
    const Expr whole = padded(stage, c.left);
    return access_pattern(result_.workload, stage, c, whole) ? std::optional(whole) : std::nullopt;
  }

  // Handles results in which axes of the two sides alternate, as in out[i, a, j, b] = sum of
  // left[i, j, k] * right[k, a, b]: the product computes [i, j, a, b] and a copy transposes it.
  bool add_reordered(const Stage& stage) {
    if (!stage.reducer || stage.results.size() != 1 || stage.elements[0]->op != ExprOp::mul) {
      return false;
    }
    const Shape extents = stage.extents();
    if (element_count(extents) < kWorthReordering ||
        element_count(stage.reduce_axes) < kDeepEnoughToReorder) {
      return false;
    }
    Expr left = stage.elements[0]->operands[0];
    Expr right = stage.elements[0]->operands[1];
    // Either side could be the right one. Weights become the left side: a constant left side is
    // prepacked, whatever its layout.
    if (is_constant(result_.workload, right)) std::swap(left, right);
    const auto in_left = axes_in(left, extents.size());
    const auto in_right = axes_in(right, extents.size());
    std::vector<size_t> order;
    for (const int group : {0, 1, 2}) {
      for (size_t axis = 0; axis < stage.axes.size(); ++axis) {
        const bool alone_left = in_left[axis] && !in_right[axis];
        const bool alone_right = in_right[axis] && !in_left[axis];
        if (group == (alone_left ? 1 : alone_right ? 2 : 0)) order.push_back(axis);
      }
    }
    std::vector<Expr> to = axes_from(0, extents.size());  // new position of each axis
    std::vector<Expr> index;
    Stage product = stage;
    for (size_t i = 0; i < order.size(); ++i) {
      to[order[i]] = Expr::axis(i);
      index.push_back(Expr::axis(order[i]));
      product.axes[i] = stage.axes[order[i]];
    }
    if (product.axes == stage.axes) return false;
    product.elements[0] = with_axes(left, to) * with_axes(right, to);
    product.results[0] = with_axes(stage.results[0], to);
    const DType dtype = stage.results[0].dtype();
    product.outputs = {add_value(dtype, product.axes)};
    const int value = product.outputs[0];
    if (!add_contraction(std::move(product))) return false;
    add(stage.axes, Expr::load(value, dtype, index), stage.outputs[0]);
    return true;
  }

  // Adds a stage that evaluates `expr` over the axes of `order` that it depends on, in that order
  // in memory. Returns the load that replaces `expr`.
  Expr laid_out(const Stage& stage, const Expr& expr, const std::vector<size_t>& order) {
    const Shape extents = stage.extents();
    Shape axes;
    std::vector<Expr> to(extents.size(), Expr::position(0));
    std::vector<Expr> index;
    for (const size_t axis : order) {
      if (!depends_on_axis(expr, static_cast<int64_t>(axis)) || extents[axis] == 1) continue;
      to[axis] = Expr::axis(axes.size());
      index.push_back(Expr::axis(axis));
      axes.push_back(extents[axis]);
    }
    return added(axes, with_axes(expr, to), index);
  }

  // Replaces loads with padding by loads of a padded copy:
  //
  //       0  0  0  0  0  0
  //       0  a  b  c  d  0      from `low` (negative or 0) to `high` in each dimension
  //       0  e  f  g  h  0
  //       0  0  0  0  0  0
  //
  // With an `order` of dimensions it replaces all loads, and the copies have that order.
  Expr padded(const Stage& stage, const Expr& expr, const std::vector<size_t>& order = {}) {
    const Shape extents = stage.extents();
    return rewrite(expr, [&](const Expr& e) -> Expr {
      if (e->op != ExprOp::load) return {};
      if (has_out_of_range_value(e) ? !e->operands.back().is_constant() : order.empty()) return {};
      const Shape& shape = shape_of(e);
      Shape axes;
      std::vector<Expr> from(shape.size());
      std::vector<Expr> index;
      for (size_t i = 0; i < shape.size(); ++i) {
        const size_t d = order.empty() ? i : order[i];
        const auto range = interval_of(e->operands[d], extents);
        // Windows with a large dilation or padding would make a copy many times as large as the
        // tensor.
        if (!range || range->low < -shape[d] - 64 || range->high > 2 * shape[d] + 64) return {};
        const int64_t low = std::min<int64_t>(range->low, 0);
        const int64_t high = std::max(range->high, shape[d] - 1);
        from[d] = Expr::axis(i) + low;
        index.push_back(e->operands[d] - low);
        axes.push_back(high - low + 1);
      }
      return added(axes, Expr::load(e->id, e.dtype(), from, out_of_range_value(e)), index);
    });
  }

  // Fuses the epilogue if a tile can compute it: its loads have one stride along rows and stride 0
  // or 1 along columns. Otherwise the sums are stored, and the epilogue is a separate stage.
  void add_with_results(Stage stage) {
    const auto c = *contraction_of(stage);
    bool by_rows = true;
    int loads = 0;
    for_each_value(stage.results, [&](const Expr& e) {
      if (e->op == ExprOp::axis) by_rows = false;
      if (e->op != ExprOp::load) return;
      const auto load = matrix_load(result_.workload, stage, c, e);
      by_rows = by_rows && ++loads <= kMostProductOperands && load && load->depth_stride == 0 &&
                (load->column_stride == 0 || load->column_stride == 1);
    });
    if (by_rows) {
      add(std::move(stage), true);
      return;
    }
    const DType dtype = stage.elements[0].dtype();
    const int sums = add_value(dtype, stage.axes);
    const Expr sum = Expr::load(sums, dtype, axes_from(0, stage.axes.size()));
    const Expr result = rewrite(stage.results[0],
                                [&](const Expr& e) { return e->op == ExprOp::arg ? sum : Expr{}; });
    const int output = stage.outputs[0];
    stage.results = {Expr::arg(0, dtype)};
    stage.outputs = {sums};
    add(stage, true);
    add(stage.axes, result, output);
  }

  const Workload& from_;
  const std::vector<bool>& may_;
  const std::vector<bool>& as_they_are_;
  size_t current_ = 0;
  RewrittenWorkload result_;
};

}  // namespace

RewrittenWorkload rewrite_contractions(const Workload& workload, const std::vector<bool>& may,
                                       const std::vector<bool>& as_they_are) {
  return ContractionRewriter(workload, may, as_they_are).run();
}

}  // namespace aoe

#include "policy/contraction.h"

#include <algorithm>
#include <numeric>
#include <set>

#include "device/dot.h"
#include "expr/affine.h"
#include "expr/rewrite.h"
#include "policy/packing.h"

namespace aoe {
namespace {

std::vector<bool> axes_in(const Expr& expr, size_t count) {
  std::vector<bool> used(count);
  for_each_node(expr, [&](const Expr& e) {
    if (e->op == ExprOp::axis) used[static_cast<size_t>(e->id)] = true;
  });
  return used;
}

int64_t product_of(const Shape& extents, const std::vector<size_t>& axes) {
  int64_t product = 1;
  for (const size_t axis : axes) product *= extents[axis];
  return product;
}

std::vector<Level> levels_of(const Shape& extents, const std::vector<size_t>& axes,
                             const std::vector<int64_t>& coefficients) {
  std::vector<Level> levels;
  for (const size_t axis : axes) {
    if (extents[axis] == 1) continue;
    const Level level{extents[axis], coefficients[axis]};
    // A step of the level before is as long as all of this one.
    const bool same = !levels.empty() && levels.back().stride == level.stride * level.extent;
    if (same) levels.back() = {levels.back().extent * level.extent, level.stride};
    else levels.push_back(level);
  }
  if (levels.size() == 1 && levels[0].stride == 0) levels.clear();
  return levels;
}

int64_t stride_of(const std::vector<Level>& levels) {
  return levels.empty() ? 0 : levels[0].stride;
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
  Contraction c{.outer = {},
                .rows = {},
                .columns = {},
                .depth = {},
                .left = element->operands[0],
                .right = element->operands[1]};
  auto in_left = axes_in(c.left, extents.size());
  auto in_right = axes_in(c.right, extents.size());
  for (size_t axis = stage.axes.size(); axis < extents.size(); ++axis) {
    if (extents[axis] == 1) continue;
    if (!in_left[axis] || !in_right[axis]) return std::nullopt;
    c.depth.push_back(axis);
  }

  // The last output axis that is one belongs to the columns: turn the factors so that it does.
  size_t last = stage.axes.size();
  while (last > 0 && extents[last - 1] == 1) --last;
  if (last == 0 || in_left[last - 1] == in_right[last - 1]) return std::nullopt;
  if (in_left[last - 1]) {
    std::swap(c.left, c.right);
    std::swap(in_left, in_right);
  }
  size_t first_column = stage.axes.size();
  while (first_column > 0) {
    const size_t axis = first_column - 1;
    if (extents[axis] != 1 && (in_left[axis] || !in_right[axis])) break;
    --first_column;
  }
  size_t first_row = first_column;
  while (first_row > 0) {
    const size_t axis = first_row - 1;
    if (extents[axis] != 1 && (in_right[axis] || !in_left[axis])) break;
    --first_row;
  }
  for (size_t axis = 0; axis < stage.axes.size(); ++axis) {
    if (extents[axis] == 1) continue;
    if (axis >= first_column) c.columns.push_back(axis);
    else if (axis >= first_row) c.rows.push_back(axis);
    else c.outer.push_back(axis);
  }
  c.outer_count = product_of(extents, c.outer);
  c.row_count = product_of(extents, c.rows);
  c.column_count = product_of(extents, c.columns);
  c.depth_count = product_of(extents, c.depth);
  return c;
}

std::optional<Walk> walk_of(const Workload& workload, const Stage& stage,
                            const Contraction& contraction, const Expr& load) {
  if (load->op != ExprOp::load || has_outside(load)) return std::nullopt;
  const Shape extents = stage.extents();
  const Shape& shape = workload.values[static_cast<size_t>(load->id)].type.shape;
  const Shape strides = row_major_strides(shape);
  Walk walk;
  walk.value = static_cast<int>(load->id);
  std::vector<int64_t> coefficients(extents.size());
  for (size_t d = 0; d < shape.size(); ++d) {
    const auto form = affine_of(load->operands[d], extents.size());
    const auto range = interval_of(load->operands[d], extents);
    if (!form || !range || !range->within({0, shape[d] - 1})) return std::nullopt;
    walk.base += form->constant * strides[d];
    for (size_t i = 0; i < extents.size(); ++i) {
      coefficients[i] += form->coefficients[i] * strides[d];
    }
  }
  for (const size_t axis : contraction.outer) {
    walk.outer_strides.push_back(extents[axis] == 1 ? 0 : coefficients[axis]);
  }
  walk.rows = levels_of(extents, contraction.rows, coefficients);
  walk.columns = levels_of(extents, contraction.columns, coefficients);
  walk.depth = levels_of(extents, contraction.depth, coefficients);
  return walk;
}

std::optional<MatrixLoad> matrix_load(const Workload& workload, const Stage& stage,
                                      const Contraction& contraction, const Expr& load) {
  const auto walk = walk_of(workload, stage, contraction, load);
  if (!walk || walk->rows.size() > 1 || walk->columns.size() > 1 || walk->depth.size() > 1) {
    return std::nullopt;
  }
  return MatrixLoad{walk->value,
                    walk->base,
                    walk->outer_strides,
                    stride_of(walk->rows),
                    stride_of(walk->columns),
                    stride_of(walk->depth)};
}

bool is_fixed(const Workload& workload, const Expr& expr) {
  return !any_node(expr, [&](const Expr& e) {
    if (e->op != ExprOp::load) return false;
    const auto& value =
        workload.values[static_cast<size_t>(workload.storage(static_cast<int>(e->id)))];
    return !value.weight && value.constant.empty();
  });
}

namespace {

// Fewer multiplications than this are done before matrices would be laid out.
constexpr int64_t kFewProducts = 1 << 14;
constexpr int64_t kFewColumns = 8;
constexpr int64_t kShallow = 4;
// From here on a product is worth another pass over its result.
constexpr int64_t kWorthReordering = 1 << 20;
constexpr int64_t kDeepEnoughToReorder = 16;

// Shorter pieces of the depth are not worth reading where they lie.
constexpr int64_t kShortestPiece = 8;

// Whether some load is indexed by what another one loads.
bool has_loaded_index(const Expr& expr) {
  return any_node(expr, [](const Expr& e) {
    if (e->op != ExprOp::load) return false;
    const std::vector<Expr> index = index_of(e);
    return std::any_of(index.begin(), index.end(), [](const Expr& position) {
      return any_node(position, [](const Expr& p) { return p->op == ExprOp::load; });
    });
  });
}

class Preparation {
 public:
  Preparation(const Workload& workload, const std::vector<bool>& may,
              const std::vector<bool>& as_they_are)
      : from_(workload), may_(may), as_they_are_(as_they_are) {
    result_.workload = workload;
    result_.workload.stages.clear();
  }

  Prepared prepare() {
    for (current_ = 0; current_ < from_.stages.size(); ++current_) {
      const Stage& stage = from_.stages[current_];
      if (as_they_are_[current_]) {
        add(stage, true);
        continue;
      }
      if (!may_[current_] || (!add_contraction(stage) && !add_reordered(stage))) {
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
    result_.fixed.push_back(false);
  }

  // Vectors go along the last axis: weights that a reduction reads with steps along it are laid
  // out.
  Stage with_weights_along_vectors(Stage stage) {
    const Shape extents = stage.extents();
    size_t last = stage.axes.size();
    while (last > 0 && extents[last - 1] == 1) --last;
    if (!stage.reducer || last == 0) return stage;
    const size_t vector = last - 1;
    std::vector<size_t> order;
    for (size_t axis = 0; axis < extents.size(); ++axis) {
      if (axis != vector) order.push_back(axis);
    }
    order.push_back(vector);
    for (Expr& element : stage.elements) {
      element = rewrite(element, [&](const Expr& e) -> Expr {
        if (e->op != ExprOp::load || has_outside(e) || !is_fixed(result_.workload, e)) return {};
        const auto strides = strides_of(stage, e);
        if (!strides || (*strides)[vector] == 0 || (*strides)[vector] == 1) return {};
        // One side of a select may be loaded from less than the whole loop.
        if (!stays_inside(stage, e)) return {};
        const Expr moved = laid_out(stage, e, order);
        result_.fixed.back() = true;
        return moved;
      });
    }
    return stage;
  }

  int add_value(DType dtype, Shape shape) {
    result_.workload.values.push_back(
        {.type = {dtype, std::move(shape)}, .view_of = -1, .constant = {}});
    return static_cast<int>(result_.workload.values.size()) - 1;
  }

  bool add_contraction(Stage stage) {
    const auto c = contraction_of(stage);
    if (!c || c->column_count < kFewColumns || c->depth_count < kShallow) return false;
    if (c->outer_count * c->row_count * c->column_count * c->depth_count < kFewProducts)
      return false;
    const Workload& w = result_.workload;
    const bool left_fixed = is_fixed(w, c->left);
    const bool right_fixed = is_fixed(w, c->right);
    if (right_fixed && !left_fixed &&
        (with_depth_last(stage, *c) || by_memory_of_left(stage, *c))) {
      return add_contraction(std::move(stage));
    }
    const auto right = matrix_load(w, stage, *c, c->right);
    const bool right_direct =
        right && right->column_stride == 1 && c->right.dtype() == stage.elements[0].dtype();
    // A single row has nothing to pay for a copy of the other side with.
    if (c->row_count < 4 && !right_direct && !right_fixed) return false;

    Expr left = c->left;
    Expr side = c->right;
    if (!right_fixed && !right_direct && !packs_by_rows(w, stage, *c)) side = padded(stage, side);
    const auto plain = matrix_load(w, stage, *c, left);
    if (!left_fixed && !plain) {
      const auto there = right_fixed ? in_pieces(stage, *c, left) : std::nullopt;
      left = there ? *there : laid_out(stage, left, joined_axes(*c));
    }
    if (!right_fixed && !right_direct && (c->columns.size() == 1 || has_loaded_index(side))) {
      // One axis of columns cannot be cut into blocks of whole rows, and what is looked up is
      // looked up once: all of it is laid out.
      side = laid_out(stage, side, outer_depth_columns(*c));
    }
    stage.elements[0] = left * side;
    add_with_results(std::move(stage));
    return true;
  }

  bool stays_inside(const Stage& stage, const Expr& load) const {
    const Shape& shape = result_.workload.values[static_cast<size_t>(load->id)].type.shape;
    for (size_t d = 0; d < shape.size(); ++d) {
      const auto range = interval_of(load->operands[d], stage.extents());
      if (!range || !range->within({0, shape[d] - 1})) return false;
    }
    return true;
  }

  // The strides of a load that may reach outside, by axis. Nothing if it has none.
  std::optional<std::vector<int64_t>> strides_of(const Stage& stage, const Expr& load) const {
    if (load->op != ExprOp::load) return std::nullopt;
    const size_t rank = stage.extents().size();
    const Shape strides =
        row_major_strides(result_.workload.values[static_cast<size_t>(load->id)].type.shape);
    std::vector<int64_t> result(rank);
    for (size_t d = 0; d < strides.size(); ++d) {
      const auto form = affine_of(load->operands[d], rank);
      if (!form) return std::nullopt;
      for (size_t i = 0; i < rank; ++i) result[i] += form->coefficients[i] * strides[d];
    }
    return result;
  }

  // A left side of which next to nothing that is summed lies side by side is copied so that it
  // does. False if it need not be, or cannot.
  bool with_depth_last(Stage& stage, const Contraction& c) {
    const auto strides = strides_of(stage, c.left);
    if (!strides || longest_piece(stage, c, *strides) >= kShortestPiece) return false;
    // Dimensions that only the depth walks along.
    std::vector<size_t> first;
    std::vector<size_t> last;
    for (size_t d = 0; d < static_cast<size_t>(c.left->rank); ++d) {
      const auto used = axes_in(c.left->operands[d], stage.extents().size());
      const bool out =
          std::any_of(used.begin(), used.begin() + static_cast<int64_t>(stage.axes.size()),
                      [](bool u) { return u; });
      (out || !std::any_of(used.begin(), used.end(), [](bool u) { return u; }) ? first : last)
          .push_back(d);
    }
    if (last.empty() || first.empty() || first.back() < last.front()) return false;
    std::vector<size_t> order = first;
    order.insert(order.end(), last.begin(), last.end());
    const Expr moved = padded(stage, c.left, order);
    if (&*moved == &*c.left) return false;
    stage.elements[0] = moved * c.right;
    return true;
  }

  // How much of the depth lies without gaps, in the best order.
  static int64_t longest_piece(const Stage& stage, const Contraction& c,
                               const std::vector<int64_t>& strides) {
    int64_t piece = 1;
    for (size_t round = 0; round < c.depth.size(); ++round) {
      for (const size_t axis : c.depth) {
        if (strides[axis] == piece) piece *= stage.extents()[axis];
      }
    }
    return piece;
  }

  // Sums in the order in which the left side lies in memory, where the right side may have any.
  // False if that is the order they have.
  bool by_memory_of_left(Stage& stage, const Contraction& c) const {
    const auto strides = strides_of(stage, c.left);
    if (!strides) return false;
    const size_t first = stage.axes.size();
    std::vector<size_t> order(stage.reduce_axes.size());
    std::iota(order.begin(), order.end(), first);
    std::stable_sort(order.begin(), order.end(),
                     [&](size_t a, size_t b) { return (*strides)[a] > (*strides)[b]; });
    if (std::is_sorted(order.begin(), order.end())) return false;
    std::vector<Expr> to;
    for (size_t i = 0; i < first; ++i) to.push_back(Expr::axis(static_cast<int64_t>(i)));
    to.resize(first + order.size());
    const Shape before = stage.reduce_axes;
    for (size_t i = 0; i < order.size(); ++i) {
      stage.reduce_axes[i] = before[order[i] - first];
      to[order[i]] = Expr::axis(static_cast<int64_t>(first + i));
    }
    stage.elements[0] = with_axes(stage.elements[0], to);
    return true;
  }

  // A left side that is read where it lies, after what surrounds it is written out: rows in lines,
  // the depth in pieces without gaps. Nothing if it does not lie so.
  std::optional<Expr> in_pieces(const Stage& stage, const Contraction& c, const Expr& left) {
    if (left->op != ExprOp::load || left.dtype() != stage.elements[0].dtype()) return std::nullopt;
    const auto strides = strides_of(stage, left);
    if (!strides || longest_piece(stage, c, *strides) < kShortestPiece) return std::nullopt;
    const Expr whole = padded(stage, left);
    return walk_of(result_.workload, stage, c, whole) ? std::optional(whole) : std::nullopt;
  }

  // Where the axes of the two sides alternate in the result, they are parted for the product, and
  // brought into their places afterwards.
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
    // Weights can be laid out for rows beforehand, so what is no weight gives the columns.
    if (is_fixed(result_.workload, right)) std::swap(left, right);
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
    std::vector<Expr> to;  // where each axis is in the new order
    for (size_t axis = 0; axis < extents.size(); ++axis) {
      const auto at = std::find(order.begin(), order.end(), axis);
      const auto place = at == order.end() ? static_cast<int64_t>(axis) : at - order.begin();
      to.push_back(Expr::axis(place));
    }
    Stage product = stage;
    for (size_t i = 0; i < order.size(); ++i) product.axes[i] = stage.axes[order[i]];
    if (product.axes == stage.axes) return false;
    product.elements[0] = with_axes(left, to) * with_axes(right, to);
    product.results[0] = with_axes(stage.results[0], to);
    const DType dtype = stage.results[0].dtype();
    product.outputs = {add_value(dtype, product.axes)};
    const int value = product.outputs[0];
    if (!add_contraction(std::move(product))) return false;
    Stage copy;
    copy.axes = stage.axes;
    copy.outputs = stage.outputs;
    std::vector<Expr> index;
    for (const size_t axis : order) index.push_back(Expr::axis(static_cast<int64_t>(axis)));
    copy.results = {Expr::load(value, dtype, index)};
    add(std::move(copy), false);
    return true;
  }

  static std::vector<size_t> joined_axes(const Contraction& c) {
    std::vector<size_t> axes = c.outer;
    axes.insert(axes.end(), c.rows.begin(), c.rows.end());
    axes.insert(axes.end(), c.depth.begin(), c.depth.end());
    return axes;
  }
  static std::vector<size_t> outer_depth_columns(const Contraction& c) {
    std::vector<size_t> axes = c.outer;
    axes.insert(axes.end(), c.depth.begin(), c.depth.end());
    axes.insert(axes.end(), c.columns.begin(), c.columns.end());
    return axes;
  }

  // A stage that computes `expr` over those of the axes that it depends on; gives its load.
  Expr laid_out(const Stage& stage, const Expr& expr, const std::vector<size_t>& order) {
    const Shape extents = stage.extents();
    Stage copy;
    std::vector<Expr> to(extents.size(), Expr::integer(DType::i64, 0));
    std::vector<Expr> index;
    for (const size_t axis : order) {
      if (!depends_on_axis(expr, static_cast<int64_t>(axis)) || extents[axis] == 1) continue;
      to[axis] = Expr::axis(static_cast<int64_t>(copy.axes.size()));
      index.push_back(Expr::axis(static_cast<int64_t>(axis)));
      copy.axes.push_back(extents[axis]);
    }
    copy.results = {with_axes(expr, to)};
    copy.outputs = {add_value(expr.dtype(), copy.axes)};
    const int value = copy.outputs[0];
    add(std::move(copy), false);
    return Expr::load(value, expr.dtype(), index);
  }

  // Loads that reach beyond their tensor read a copy with its surroundings instead. With an order
  // of dimensions, all do, and the copy has that order.
  Expr padded(const Stage& stage, const Expr& expr, const std::vector<size_t>& order = {}) {
    const Shape extents = stage.extents();
    return rewrite(expr, [&](const Expr& e) -> Expr {
      if (e->op != ExprOp::load) return {};
      if (has_outside(e) ? !e->operands.back().is_constant() : order.empty()) return {};
      const Shape& shape = result_.workload.values[static_cast<size_t>(e->id)].type.shape;
      Stage copy;
      std::vector<Expr> from(shape.size());
      std::vector<Expr> index;
      for (size_t i = 0; i < shape.size(); ++i) {
        const size_t d = order.empty() ? i : order[i];
        const auto range = interval_of(e->operands[d], extents);
        if (!range || range->low < -shape[d] - 64 || range->high > 2 * shape[d] + 64) return {};
        const int64_t low = std::min<int64_t>(range->low, 0);
        const int64_t high = std::max(range->high, shape[d] - 1);
        from[d] = Expr::axis(static_cast<int64_t>(i)) + low;
        index.push_back(e->operands[d] - low);
        copy.axes.push_back(high - low + 1);
      }
      copy.results = {
          Expr::load(e->id, e.dtype(), from, has_outside(e) ? e->operands.back() : Expr{})};
      copy.outputs = {add_value(e.dtype(), copy.axes)};
      const int value = copy.outputs[0];
      add(std::move(copy), false);
      return Expr::load(value, e.dtype(), index);
    });
  }

  // What is made of the sums is done with them if it goes row by row, else in a stage of its own.
  void add_with_results(Stage stage) {
    const auto c = *contraction_of(stage);
    bool by_rows = true;
    int loads = 0;
    std::set<const Expr::Node*> seen;
    const std::function<void(const Expr&)> walk = [&](const Expr& e) {
      if (!seen.insert(&*e).second) return;
      if (e->op == ExprOp::axis) by_rows = false;
      if (e->op == ExprOp::load) {
        by_rows = by_rows && ++loads <= kMostProductOperands;
        const auto load = matrix_load(result_.workload, stage, c, e);
        by_rows = by_rows && load && load->depth_stride == 0 &&
                  (load->column_stride == 0 || load->column_stride == 1);
        return;
      }
      for (const Expr& operand : e->operands) walk(operand);
    };
    walk(stage.results[0]);
    if (by_rows) {
      add(std::move(stage), true);
      return;
    }
    const DType dtype = stage.elements[0].dtype();
    const int sums = add_value(dtype, stage.axes);
    Stage after;
    after.axes = stage.axes;
    after.outputs = stage.outputs;
    std::vector<Expr> point;
    for (size_t i = 0; i < stage.axes.size(); ++i) {
      point.push_back(Expr::axis(static_cast<int64_t>(i)));
    }
    after.results = {rewrite(stage.results[0], [&](const Expr& e) {
      return e->op == ExprOp::arg ? Expr::load(sums, dtype, point) : Expr{};
    })};
    stage.results = {Expr::arg(0, dtype)};
    stage.outputs = {sums};
    add(std::move(stage), true);
    add(std::move(after), false);
  }

  const Workload& from_;
  const std::vector<bool>& may_;
  const std::vector<bool>& as_they_are_;
  size_t current_ = 0;
  Prepared result_;
};

}  // namespace

Prepared prepared(const Workload& workload, const std::vector<bool>& may,
                  const std::vector<bool>& as_they_are) {
  return Preparation(workload, may, as_they_are).prepare();
}

}  // namespace aoe

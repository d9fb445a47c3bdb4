#include "policy/lower.h"

#include <algorithm>
#include <map>
#include <set>

#include "expr/affine.h"
#include "expr/rewrite.h"
#include "policy/parts.h"
#include "policy/window.h"

namespace aoe {
namespace {

// Loads that cannot leave their buffer become linear offsets into it.
Expr linearized(const std::vector<NestBuffer>& buffers, const Expr& expr, const Shape& extents) {
  return rewrite(expr, [&](const Expr& e) -> Expr {
    if (e->op != ExprOp::load) return {};
    const Shape& shape = buffers[static_cast<size_t>(e->id)].shape;
    if (e->linear) return {};
    const Shape strides = row_major_strides(shape);
    Expr offset = Expr::integer(DType::i64, 0);
    for (size_t d = 0; d < shape.size(); ++d) {
      const auto range = interval_of(e->operands[d], extents);
      if (!range || !range->within({0, shape[d] - 1})) return {};
      offset = offset + linearized(buffers, e->operands[d], extents) * strides[d];
    }
    return Expr::linear_load(e->id, e.dtype(), offset);
  });
}

// Every expression of a loop, to look at or to replace.
template <typename Fn>
void for_each_expr(Loop& loop, const Fn& fn) {
  for (Expr& expr : loop.elements) fn(expr);
  for (Expr& expr : loop.results) fn(expr);
  for (NestStore& store : loop.stores) fn(store.offset);
  for (Loop::Kept& kept : loop.kept) {
    fn(kept.value);
    fn(kept.store.offset);
  }
}

// How a loop's memory accesses go along its axes.
struct Accesses {
  std::vector<Affine> linear;
  std::vector<bool> fixed;  // axes that something else than a linear offset depends on

  explicit Accesses(Loop& loop) : fixed(loop.extents.size()) {
    const size_t rank = loop.extents.size();
    std::set<const Expr::Node*> seen;
    const std::function<void(const Expr&)> walk = [&](const Expr& e) {
      if (!seen.insert(&*e).second) return;
      if (e->op == ExprOp::axis) fixed[static_cast<size_t>(e->id)] = true;
      if (e->op == ExprOp::load && e->linear) {
        if (const auto form = affine_of(e->operands[0], rank)) {
          linear.push_back(*form);
          return;
        }
      }
      for (const Expr& operand : e->operands) walk(operand);
    };
    const auto store = [&](const NestStore& s) { linear.push_back(*affine_of(s.offset, rank)); };
    for (const Expr& expr : loop.elements) walk(expr);
    for (const Expr& expr : loop.results) walk(expr);
    for (const NestStore& s : loop.stores) store(s);
    for (const Loop::Kept& kept : loop.kept) {
      walk(kept.value);
      store(kept.store);
    }
  }

  // Whether all memory sees two neighbouring axes as one.
  bool merges(size_t axis, const Shape& extents) const {
    if (fixed[axis] || fixed[axis + 1]) return false;
    return std::all_of(linear.begin(), linear.end(), [&](const Affine& form) {
      return form.coefficients[axis] == form.coefficients[axis + 1] * extents[axis + 1];
    });
  }
};

// The loop without an axis, which stands at 0; those behind it move up.
void remove_axis(Loop& loop, size_t axis) {
  std::vector<Expr> axes;
  for (size_t i = 0; i < loop.extents.size(); ++i) {
    if (i == axis) axes.push_back(Expr::integer(DType::i64, 0));
    else axes.push_back(Expr::axis(static_cast<int64_t>(i < axis ? i : i - 1)));
  }
  for_each_expr(loop, [&](Expr& expr) { expr = with_axes(expr, axes); });
  loop.extents.erase(loop.extents.begin() + static_cast<int64_t>(axis));
  if (axis < loop.out_rank) --loop.out_rank;
}

constexpr size_t kNone = ~size_t{0};

// `kept` stays as it is, and is where it then stands.
void merge_axes(Loop& loop, size_t outer, size_t& kept) {
  const auto remove = [&](size_t axis) {
    remove_axis(loop, axis);
    if (kept != kNone && axis < kept) --kept;
  };
  for (size_t axis = loop.extents.size(); axis-- > outer;) {
    if (loop.extents[axis] == 1 && axis != kept) remove(axis);
  }
  for (size_t axis = loop.extents.size(); axis-- > outer;) {
    if (axis + 1 >= loop.extents.size()) continue;
    if (axis == kept || axis + 1 == kept) continue;
    if (loop.is_reduced(axis) != loop.is_reduced(axis + 1)) continue;
    if (!Accesses(loop).merges(axis, loop.extents)) continue;
    loop.extents[axis + 1] *= loop.extents[axis];
    remove(axis);
  }
}

std::vector<Loop> lowered(const std::vector<NestBuffer>& buffers, const Loop& loop, size_t outer) {
  std::vector<Loop> loops;
  for (Loop& part : parts_of(buffers, loop, outer)) {
    size_t kept = kNone;
    loops.push_back(lower_loop(buffers, std::move(part), outer, kept));
  }
  return loops;
}

// Outer points are what threads share, so a single long axis is cut into pieces of this many. What
// is left over is a loop of its own.
constexpr int64_t kPiece = 8192;

std::vector<Loop> pieces_of(Loop loop) {
  if (loop.reducer || loop.out_rank != 1 || loop.extents[0] < 4 * kPiece) return {std::move(loop)};
  const int64_t whole = loop.extents[0] / kPiece;
  const int64_t rest = loop.extents[0] % kPiece;
  std::vector<Loop> loops;
  const auto add = [&](Shape extents, const Expr& position) {
    Loop part = loop;
    part.out_rank = extents.size();
    part.extents = std::move(extents);
    for_each_expr(part, [&](Expr& expr) { expr = with_axes(expr, {position}); });
    loops.push_back(std::move(part));
  };
  add({whole, kPiece}, Expr::axis(0) * kPiece + Expr::axis(1));
  if (rest > 0) add({rest}, Expr::axis(0) + whole * kPiece);
  return loops;
}

// Outer axes that all memory sees as one become one.
void merge_outer_axes(Nest& nest) {
  for (size_t axis = nest.outer.size(); axis-- > 1;) {
    const bool one = std::all_of(nest.loops.begin(), nest.loops.end(), [&](Loop& loop) {
      return Accesses(loop).merges(axis - 1, loop.extents);
    });
    if (!one) continue;
    nest.outer[axis] *= nest.outer[axis - 1];
    nest.outer.erase(nest.outer.begin() + static_cast<int64_t>(axis) - 1);
    for (Loop& loop : nest.loops) {
      loop.extents[axis] *= loop.extents[axis - 1];
      remove_axis(loop, axis - 1);
    }
  }
}

// Two neighbouring points of the last outer axis at a time: while one row waits for the end of its
// reduction, there is the other. The rows of the second lie behind those of the first.
void pair_rows(Nest& nest) {
  constexpr int64_t kRows = 2;
  constexpr int64_t kLargestRow = 8 << 10;
  const auto of_row = [&](const Expr& e) {
    return e->op == ExprOp::load && nest.buffers[static_cast<size_t>(e->id)].row;
  };
  bool reduces = false;
  bool linear = true;
  for (Loop& loop : nest.loops) {
    reduces = reduces || loop.reducer;
    for_each_expr(loop, [&](Expr& expr) {
      linear = linear && !any_node(expr, [&](const Expr& e) { return of_row(e) && !e->linear; });
    });
  }
  if (nest.outer.empty() || nest.outer.back() % kRows != 0 || !reduces || !linear ||
      nest.row_bytes() > kLargestRow) {
    return;
  }
  const size_t paired = nest.outer.size();
  const auto in_pair = Expr::axis(static_cast<int64_t>(paired));
  nest.outer.back() /= kRows;
  std::vector<int64_t> elements;
  for (NestBuffer& buffer : nest.buffers) {
    // Long ones begin at cache lines.
    const int64_t line = std::max<int64_t>(1, kCacheLine / info(buffer.dtype).bytes);
    const int64_t count = element_count(buffer.shape);
    elements.push_back(count < line ? count : ceil_div(count, line) * line);
    if (buffer.row) buffer.shape = {kRows, elements.back()};
  }
  for (Loop& loop : nest.loops) {
    std::vector<Expr> axes;
    for (size_t i = 0; i < loop.extents.size(); ++i) {
      axes.push_back(Expr::axis(static_cast<int64_t>(i < paired ? i : i + 1)));
    }
    axes[paired - 1] = axes[paired - 1] * kRows + in_pair;
    for_each_expr(loop, [&](Expr& expr) {
      expr = rewrite(with_axes(expr, axes), [&](const Expr& e) -> Expr {
        if (!of_row(e)) return {};
        const int64_t row = elements[static_cast<size_t>(e->id)];
        return Expr::linear_load(e->id, e.dtype(), in_pair * row + e->operands[0]);
      });
    });
    const auto move_store = [&](NestStore& store) {
      if (!nest.buffers[static_cast<size_t>(store.buffer)].row) return;
      store.offset = in_pair * elements[static_cast<size_t>(store.buffer)] + store.offset;
    };
    for (NestStore& store : loop.stores) move_store(store);
    for (Loop::Kept& kept : loop.kept) move_store(kept.store);
    loop.extents[paired - 1] /= kRows;
    loop.extents.insert(loop.extents.begin() + static_cast<int64_t>(paired), kRows);
    ++loop.out_rank;
  }
}

class GroupLowering {
 public:
  GroupLowering(const Workload& workload, const Group& group, bool copies)
      : workload_(workload), group_(group), copies_(copies), outer_(group.outer) {}

  std::vector<Nest> lower() {
    std::vector<Loop> loops;
    for (const size_t s : group_.stages) add_stage(loops, workload_.stages[s]);
    if (outer_ > 0) {
      const Shape nest_axes = shared_axes();
      Nest nest{.outer = nest_axes, .buffers = {}, .loops = {}};
      for (Loop& loop : loops) append(nest.loops, lowered(buffers_, loop, outer_));
      nest.buffers = buffers_;
      merge_outer_axes(nest);
      // A pair must not be of two strips.
      const auto strips = nest_axes.begin() + static_cast<int64_t>(group_.strip_axes);
      const bool whole_pairs = element_count({strips, nest_axes.end()}) % 2 == 0;
      if (group_.strip_axes == 0 || whole_pairs) pair_rows(nest);
      return {nest};
    }
    std::vector<Nest> nests;
    for (Loop& loop : loops) {
      if (auto nest = copies_ ? windowed(buffers_, loop) : std::nullopt) {
        nests.push_back(std::move(*nest));
        continue;
      }
      for (Loop& part : lowered(buffers_, loop, 0)) {
        for (Loop& piece : pieces_of(std::move(part))) {
          nests.push_back({.outer = {}, .buffers = buffers_, .loops = {std::move(piece)}});
        }
      }
    }
    return nests;
  }

 private:
  static void append(std::vector<Loop>& to, std::vector<Loop> loops) {
    std::move(loops.begin(), loops.end(), std::back_inserter(to));
  }

  Shape shared_axes() const {
    const Shape& axes = workload_.stages[group_.stages[0]].axes;
    return {axes.begin(), axes.begin() + static_cast<int64_t>(outer_)};
  }

  // The shape in which loads index a value: a row has no outer axes.
  Shape indexed_shape(int value, bool row) const {
    const Shape& shape = workload_.values[static_cast<size_t>(value)].type.shape;
    return {shape.begin() + static_cast<int64_t>(row ? outer_ : 0), shape.end()};
  }

  int buffer_of(int value) {
    const int storage = workload_.storage(value);
    const bool row = outer_ > 0 && is_internal(workload_, group_, value);
    NestBuffer buffer{workload_.values[static_cast<size_t>(value)].type.dtype,
                      indexed_shape(value, row), storage, row};
    for (size_t i = 0; i < buffers_.size(); ++i) {
      if (buffers_[i].value == storage && buffers_[i].shape == buffer.shape) {
        return static_cast<int>(i);
      }
    }
    buffers_.push_back(std::move(buffer));
    return static_cast<int>(buffers_.size()) - 1;
  }

  Expr on_buffers(const Expr& expr) {
    return rewrite(expr, [&](const Expr& e) -> Expr {
      if (e->op != ExprOp::load) return {};
      const int buffer = buffer_of(static_cast<int>(e->id));
      const size_t skipped = buffers_[static_cast<size_t>(buffer)].row ? outer_ : 0;
      std::vector<Expr> index;
      for (size_t i = skipped; i < static_cast<size_t>(e->rank); ++i) {
        index.push_back(on_buffers(e->operands[i]));
      }
      const Expr outside = has_outside(e) ? on_buffers(e->operands.back()) : Expr{};
      return Expr::load(buffer, e.dtype(), std::move(index), outside);
    });
  }

  NestStore store_of(int value, const Shape& axes) {
    const int buffer = buffer_of(value);
    const size_t skipped = buffers_[static_cast<size_t>(buffer)].row ? outer_ : 0;
    const Shape strides =
        row_major_strides({axes.begin() + static_cast<int64_t>(skipped), axes.end()});
    Expr offset = Expr::integer(DType::i64, 0);
    for (size_t i = skipped; i < axes.size(); ++i) {
      if (axes[i] != 1)
        offset = offset + Expr::axis(static_cast<int64_t>(i)) * strides[i - skipped];
    }
    return {buffer, offset};
  }

  void add_stage(std::vector<Loop>& loops, const Stage& stage) {
    Loop loop;
    loop.extents = stage.extents();
    loop.out_rank = stage.axes.size();
    loop.reducer = stage.reducer;
    for (const Expr& element : stage.elements) loop.elements.push_back(on_buffers(element));
    for (const Expr& result : stage.results) loop.results.push_back(on_buffers(result));
    for (const int output : stage.outputs) loop.stores.push_back(store_of(output, stage.axes));
    if (!loops.empty() && takes_in(loop, loops.back())) loops.pop_back();
    loops.push_back(std::move(loop));
  }

  // A reduction over exactly what the stage before it has computed computes that on the way.
  bool takes_in(Loop& loop, const Loop& before) const {
    if (!loop.reducer || before.reducer || before.stores.size() != 1) return false;
    const int buffer = before.stores[0].buffer;
    std::vector<Expr> index;
    bool once = true;
    for (const Expr& element : loop.elements) {
      for_each_node(element, [&](const Expr& e) {
        if (e->op != ExprOp::load || e->id != buffer) return;
        once = once && !has_outside(e) && (index.empty() || same_axes(index, index_of(e)));
        index = index_of(e);
      });
    }
    // What the results look at elsewhere would not be there yet.
    for (const Expr& result : loop.results) {
      once = once && !any_node(result, [&](const Expr& e) {
               return e->op == ExprOp::load && e->id == buffer;
             });
    }
    if (!once || index.empty()) return false;
    // Every axis of the loop before is one of this loop's, each of which is met once.
    const size_t skipped = before.extents.size() - index.size();
    std::vector<Expr> axes;
    for (size_t i = 0; i < skipped; ++i) axes.push_back(Expr::axis(static_cast<int64_t>(i)));
    axes.insert(axes.end(), index.begin(), index.end());
    std::vector<int> met(loop.extents.size());
    for (size_t i = 0; i < axes.size(); ++i) {
      if (axes[i]->op != ExprOp::axis) {
        if (before.extents[i] != 1) return false;
        continue;
      }
      const auto axis = static_cast<size_t>(axes[i]->id);
      // One side of a select may be loaded from less than the whole loop.
      if (before.extents[i] != loop.extents[axis]) return false;
      ++met[axis];
    }
    for (size_t i = 0; i < met.size(); ++i) {
      if (met[i] != (loop.extents[i] == 1 ? met[i] : 1)) return false;
    }
    const Expr value = with_axes(before.results[0], axes);
    for (Expr& element : loop.elements) {
      element = rewrite(element, [&](const Expr& e) {
        return e->op == ExprOp::load && e->id == buffer ? value : Expr{};
      });
    }
    loop.kept = before.kept;
    loop.kept.push_back({value, {buffer, with_axes(before.stores[0].offset, axes)}});
    return true;
  }

  static bool same_axes(const std::vector<Expr>& a, const std::vector<Expr>& b) {
    if (a.size() != b.size()) return false;
    for (size_t i = 0; i < a.size(); ++i) {
      if (a[i]->op != b[i]->op || a[i]->id != b[i]->id || !a[i]->operands.empty()) return false;
    }
    return true;
  }

  const Workload& workload_;
  const Group& group_;
  bool copies_;
  size_t outer_;
  std::vector<NestBuffer> buffers_;
};

}  // namespace

Loop lower_loop(const std::vector<NestBuffer>& buffers, Loop loop, size_t outer, size_t& kept) {
  for_each_expr(loop, [&](Expr& e) { e = linearized(buffers, e, loop.extents); });
  merge_axes(loop, outer, kept);
  return loop;
}

std::vector<Nest> lower(const Workload& workload, const Group& group, bool copies) {
  return GroupLowering(workload, group, copies).lower();
}

}  // namespace aoe

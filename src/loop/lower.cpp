#include "loop/lower.h"

#include <algorithm>
#include <map>
#include <set>

#include "device/machine_model.h"
#include "expr/affine.h"
#include "expr/rewrite.h"
#include "loop/copied_windows.h"
#include "loop/split_at_edges.h"

// Lowers the stages of a group to loop nests. In reading order:
//   GroupLowering     stages to loops over buffers: one nest for all, or one for each
//     add_stage         fuses a reduction with the stage that computes its elements (fuse_producer)
//   lower_parts       splits a loop at the edges of padding, and lowers each part by
//   lower_loop        linear offsets, no axes of extent 1, neighbouring axes merged
//   merge_outer_axes, pieces_of, pair_rows     then rewrite the outer axes
//
// The order matters: axes merge only where all accesses are linear offsets, and accesses are linear
// only after edges are split off.
//
// A group with outer axes becomes one nest. Values between its stages are rows, memory of a thread
// for one point of the outer axes. A softmax:
//
//   for n                     outer
//     row0 = max(x[n, :])     a row of one element
//     row1 = exp(x[n, :] - row0), row2 = sum(row1)        one loop: fuse_producer
//     y[n, :] = row1 / row2
//
// Invariant: no rewrite changes the values that the loops store.

namespace aoe {
namespace {

// Replaces loads that cannot leave their buffer by loads at linear offsets.
void linearize(const std::vector<NestBuffer>& buffers, Loop& loop) {
  Rewriter linearized([&](const Expr& e) -> Expr {
    if (e->op != ExprOp::load || e->linear) return {};
    const Shape& shape = buffers[static_cast<size_t>(e->id)].shape;
    std::vector<Expr> index = index_of(e);
    if (!stays_inside(index, shape, loop.extents)) return {};
    for (Expr& position : index) position = linearized(position);
    return Expr::linear_load(e->id, e.dtype(), offset_of(index, shape));
  });
  loop.for_each_expr([&](Expr& e) { e = linearized(e); });
}

// Whether `axis` and the next one can be merged: in every offset the stride of the outer one is
// the extent of the inner one times its stride, and nothing but offsets depends on them.
bool merges(Loop& loop, size_t axis) {
  const size_t rank = loop.extents.size();
  const auto is_one = [&](const Affine& offset) {
    return offset.coefficients[axis] == offset.coefficients[axis + 1] * loop.extents[axis + 1];
  };
  bool one = true;
  std::set<const Expr::Node*> seen;
  const std::function<void(const Expr&)> look = [&](const Expr& e) {
    if (!one || !seen.insert(&*e).second) return;
    const auto offset =
        e->op == ExprOp::load && e->linear ? affine_of(e->operands[0], rank) : std::nullopt;
    one = offset ? is_one(*offset) : !e.is_axis(axis) && !e.is_axis(axis + 1);
    if (offset) return;
    for (const Expr& operand : e->operands) look(operand);
  };
  for (const Expr& expr : loop.values()) look(expr);
  loop.for_each_store(
      [&](NestStore& store) { one = one && is_one(*affine_of(store.offset, rank)); });
  return one;
}

// Removes an axis, whose position becomes 0. Axes behind it move up by one.
void remove_axis(Loop& loop, size_t axis) {
  loop.substitute(moved_axes(loop.extents.size(), axis, Expr::position(0), -1));
  loop.extents.erase(loop.extents.begin() + static_cast<int64_t>(axis));
  if (axis < loop.out_rank) --loop.out_rank;
}

// Threads divide outer points, so a single long axis is split into pieces. 8192 floats are 32 KB,
// the size of a first-level cache. Four pieces, the fewest worth splitting into, are
// machine::kPointsWorthSharing. The remainder is a separate loop, so that the extent of a piece is
// constant.
constexpr int64_t kPiece = 8192;

std::vector<Loop> pieces_of(Loop loop) {
  if (loop.reducer || loop.out_rank != 1 || loop.extents[0] < 4 * kPiece) return {std::move(loop)};
  const int64_t rest = loop.extents[0] % kPiece;
  const int64_t whole = loop.extents[0] - rest;
  std::vector<Loop> loops(rest > 0 ? 2 : 1, loop);
  loops[0].narrow(0, 0, whole);
  loops[0].split(0, kPiece);
  if (rest > 0) loops[1].narrow(0, whole, rest);
  return loops;
}

// Merges neighbouring outer axes where all loops of the nest allow it.
void merge_outer_axes(Nest& nest) {
  for (size_t axis = nest.outer.size(); axis-- > 1;) {
    const bool one = std::all_of(nest.loops.begin(), nest.loops.end(),
                                 [&](Loop& loop) { return merges(loop, axis - 1); });
    if (!one) continue;
    nest.outer[axis] *= nest.outer[axis - 1];
    nest.outer.erase(nest.outer.begin() + static_cast<int64_t>(axis) - 1);
    for (Loop& loop : nest.loops) {
      loop.extents[axis] *= loop.extents[axis - 1];
      remove_axis(loop, axis - 1);
    }
  }
}

// Computes two neighbouring points of the last outer axis at a time: the end of a reduction is a
// chain of dependent instructions, and the other row fills the gaps. A row buffer becomes
// [2][elements]; kLargestPairedRow keeps both rows in the first-level cache.
void pair_rows(Nest& nest) {
  constexpr int64_t kRows = 2;
  const auto of_row = [&](const Expr& e) {
    return e->op == ExprOp::load && nest.buffers[static_cast<size_t>(e->id)].row;
  };
  bool reduces = false;
  bool linear = true;
  for (Loop& loop : nest.loops) {
    reduces = reduces || loop.reducer;
    loop.for_each_expr([&](Expr& expr) {
      linear = linear && !any_node(expr, [&](const Expr& e) { return of_row(e) && !e->linear; });
    });
  }
  if (nest.outer.empty() || nest.outer.back() % kRows != 0 || !reduces || !linear ||
      nest.row_bytes() > machine::kLargestPairedRow) {
    return;
  }
  const size_t paired = nest.outer.size();
  const auto in_pair = Expr::axis(paired);
  nest.outer.back() /= kRows;
  std::vector<int64_t> elements;
  for (NestBuffer& buffer : nest.buffers) {
    // Rows of at least a cache line begin at one; shorter rows are not padded.
    const int64_t line = std::max<int64_t>(1, kCacheLine / info(buffer.dtype).bytes);
    const int64_t count = element_count(buffer.shape);
    elements.push_back(count < line ? count : ceil_div(count, line) * line);
    if (buffer.row) buffer.shape = {kRows, elements.back()};
  }
  for (Loop& loop : nest.loops) {
    loop.split(paired - 1, kRows);
    loop.for_each_expr([&](Expr& expr) {
      expr = rewrite(expr, [&](const Expr& e) -> Expr {
        if (!of_row(e)) return {};
        const int64_t row = elements[static_cast<size_t>(e->id)];
        return Expr::linear_load(e->id, e.dtype(), in_pair * row + e->operands[0]);
      });
    });
    loop.for_each_store([&](NestStore& store) {
      if (!nest.buffers[static_cast<size_t>(store.buffer)].row) return;
      store.offset = in_pair * elements[static_cast<size_t>(store.buffer)] + store.offset;
    });
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
      const Shape shared = head(workload_.stages[group_.stages[0]].axes, outer_);
      Nest nest{.outer = shared, .buffers = buffers_, .loops = {}};
      for (const Loop& loop : loops) {
        for (Loop& part : lower_parts(buffers_, loop, outer_))
          nest.loops.push_back(std::move(part));
      }
      merge_outer_axes(nest);
      // A call computes one strip, so a pair of rows must not span two strips.
      const bool whole_pairs = element_count(tail(shared, group_.strip_axes)) % 2 == 0;
      if (group_.strip_axes == 0 || whole_pairs) pair_rows(nest);
      return {nest};
    }
    std::vector<Nest> nests;
    for (const Loop& loop : loops) {
      if (auto nest = copies_ ? copy_windows(buffers_, loop) : std::nullopt) {
        nests.push_back(std::move(*nest));
        continue;
      }
      for (Loop& part : lower_parts(buffers_, loop, 0)) {
        for (Loop& piece : pieces_of(std::move(part))) {
          nests.push_back({.outer = {}, .buffers = buffers_, .loops = {std::move(piece)}});
        }
      }
    }
    return nests;
  }

 private:
  // Returns the buffer of a value. A value that only this group uses is a row, which has no outer
  // axes.
  int buffer_of(int64_t value) {
    NestBuffer buffer = buffer_over(workload_, value);
    buffer.row = outer_ > 0 && is_internal(workload_, group_, static_cast<int>(value));
    if (buffer.row) buffer.shape = tail(buffer.shape, outer_);
    for (size_t i = 0; i < buffers_.size(); ++i) {
      if (buffers_[i].value == buffer.value && buffers_[i].shape == buffer.shape) {
        return static_cast<int>(i);
      }
    }
    buffers_.push_back(std::move(buffer));
    return static_cast<int>(buffers_.size()) - 1;
  }

  Expr on_buffers(const Expr& expr) {
    return rewrite(expr, [&](const Expr& e) -> Expr {
      if (e->op != ExprOp::load) return {};
      const int buffer = buffer_of(e->id);
      const size_t skipped = buffers_[static_cast<size_t>(buffer)].row ? outer_ : 0;
      std::vector<Expr> index;
      for (size_t i = skipped; i < static_cast<size_t>(e->rank); ++i) {
        index.push_back(on_buffers(e->operands[i]));
      }
      const Expr outside = has_out_of_range_value(e) ? on_buffers(e->operands.back()) : Expr{};
      return Expr::load(buffer, e.dtype(), std::move(index), outside);
    });
  }

  NestStore store_of(int value, const Shape& axes) {
    const int buffer = buffer_of(value);
    const Shape& shape = buffers_[static_cast<size_t>(buffer)].shape;
    std::vector<Expr> index;
    for (size_t i = axes.size() - shape.size(); i < axes.size(); ++i) {
      index.push_back(axes[i] == 1 ? Expr::position(0) : Expr::axis(i));
    }
    return {buffer, offset_of(index, shape)};
  }

  void add_stage(std::vector<Loop>& loops, const Stage& stage) {
    Loop loop;
    loop.extents = stage.extents();
    loop.out_rank = stage.axes.size();
    loop.reducer = stage.reducer;
    for (const Expr& element : stage.elements) loop.elements.push_back(on_buffers(element));
    for (const Expr& result : stage.results) loop.results.push_back(on_buffers(result));
    for (const int output : stage.outputs) loop.stores.push_back(store_of(output, stage.axes));
    if (!loops.empty() && fuse_producer(loop, loops.back())) loops.pop_back();
    loops.push_back(std::move(loop));
  }

  // Fuses `before` into a reduction that reads exactly its elements, each once: the reduction
  // computes them on the way, and stores them (Loop::kept) for the stages behind it.
  static bool fuse_producer(Loop& loop, const Loop& before) {
    if (!loop.reducer || before.reducer || before.stores.size() != 1) return false;
    const int buffer = before.stores[0].buffer;
    const auto reads = [&](const Expr& e) { return e->op == ExprOp::load && e->id == buffer; };
    std::vector<Expr> index;
    bool once = true;
    for (const Expr& element : loop.elements) {
      for_each_node(element, [&](const Expr& e) {
        if (!reads(e)) return;
        once =
            once && !has_out_of_range_value(e) && (index.empty() || same_axes(index, index_of(e)));
        index = index_of(e);
      });
    }
    // Results may read any element, some of which would not be computed yet.
    for (const Expr& result : loop.results) once = once && !any_node(result, reads);
    if (!once || index.empty()) return false;
    // Each axis of `before` must be an axis of the reduction, and each of those is used once.
    const size_t skipped = before.extents.size() - index.size();
    std::vector<Expr> axes = axes_from(0, skipped);
    axes.insert(axes.end(), index.begin(), index.end());
    std::vector<int> met(loop.extents.size());
    for (size_t i = 0; i < axes.size(); ++i) {
      if (axes[i]->op != ExprOp::axis) {
        if (before.extents[i] != 1) return false;
        continue;
      }
      const auto axis = static_cast<size_t>(axes[i]->id);
      // A load under a select may cover only a part of the loop.
      if (before.extents[i] != loop.extents[axis]) return false;
      ++met[axis];
    }
    for (size_t i = 0; i < met.size(); ++i) {
      if (loop.extents[i] != 1 && met[i] != 1) return false;
    }
    const Expr value = with_axes(before.results[0], axes);
    for (Expr& element : loop.elements) {
      element = rewrite(element, [&](const Expr& e) { return reads(e) ? value : Expr{}; });
    }
    loop.kept = before.kept;
    loop.kept.push_back({value, {buffer, with_axes(before.stores[0].offset, axes)}});
    return true;
  }

  static bool same_axes(const std::vector<Expr>& a, const std::vector<Expr>& b) {
    return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](const Expr& x, const Expr& y) {
      return x->op == y->op && x->id == y->id && x->operands.empty();
    });
  }

  const Workload& workload_;
  const Group& group_;
  bool copies_;
  size_t outer_;
  std::vector<NestBuffer> buffers_;
};

}  // namespace

Loop lower_loop(const std::vector<NestBuffer>& buffers, Loop loop, size_t outer, size_t* kept) {
  linearize(buffers, loop);
  const auto is_kept = [&](size_t axis) { return kept != nullptr && *kept == axis; };
  const auto remove = [&](size_t axis) {
    remove_axis(loop, axis);
    if (kept != nullptr && axis < *kept) --*kept;
  };
  for (size_t axis = loop.extents.size(); axis-- > outer;) {
    if (loop.extents[axis] == 1 && !is_kept(axis)) remove(axis);
  }
  for (size_t axis = loop.extents.size(); axis-- > outer;) {
    if (axis + 1 >= loop.extents.size() || is_kept(axis) || is_kept(axis + 1)) continue;
    if (loop.is_reduced(axis) != loop.is_reduced(axis + 1) || !merges(loop, axis)) continue;
    loop.extents[axis + 1] *= loop.extents[axis];
    remove(axis);
  }
  return loop;
}

std::vector<Loop> lower_parts(const std::vector<NestBuffer>& buffers, const Loop& loop,
                              size_t outer) {
  std::vector<Loop> loops = parts_of(buffers, loop, outer);
  for (Loop& part : loops) part = lower_loop(buffers, std::move(part), outer);
  return loops;
}

std::vector<Nest> lower_group(const Workload& workload, const Group& group, bool copies) {
  return GroupLowering(workload, group, copies).lower();
}

}  // namespace aoe

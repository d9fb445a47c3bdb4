#include <algorithm>
#include <numeric>

#include "expr/affine.h"
#include "expr/rewrite.h"
#include "plan/layout.h"

// Tasks with their values in other layouts. An expression says which element it loads, not where
// the element lies, so a layout is another order of an index's positions, or of a stage's axes.

namespace aoe {
namespace {

// Dimensions of two shapes of the same elements that cover each other: from `first` on in the one,
// from `other_first` on in the other.
struct DimGroup {
  size_t first, last;
  size_t other_first, other_last;
};

// As fine as they can be. Equal dimensions at the beginning and at the end are each other's;
// between them, dimensions of one position may be alone.
std::vector<DimGroup> groups_of(const Shape& shape, const Shape& other) {
  std::vector<DimGroup> groups;
  size_t i = 0;
  size_t j = 0;
  for (; i < std::min(shape.size(), other.size()) && shape[i] == other[i]; ++i, ++j) {
    groups.push_back({i, i + 1, j, j + 1});
  }
  size_t end = shape.size();
  size_t other_end = other.size();
  for (; end > i && other_end > j && shape[end - 1] == other[other_end - 1]; --end, --other_end) {
    groups.push_back({end - 1, end, other_end - 1, other_end});
  }
  while (i < end || j < other_end) {
    DimGroup group{i, i, j, j};
    int64_t count = i < end ? shape[i++] : 1;
    int64_t other_count = 1;
    while (count != other_count) {
      if (count > other_count) other_count *= other[j++];
      else count *= shape[i++];
    }
    if (group.first == i) ++j;
    group.last = i;
    group.other_last = j;
    groups.push_back(group);
  }
  return groups;
}

// An index into `whole` of what an index of a view of it loads. Nothing if it takes a division.
std::optional<std::vector<Expr>> index_in(const Shape& whole, const Shape& view, const Expr& load,
                                          const Shape& extents) {
  std::vector<Expr> result(whole.size(), Expr::integer(DType::i64, 0));
  for (const DimGroup& group : groups_of(whole, view)) {
    std::optional<size_t> target;
    for (size_t d = group.first; d < group.last; ++d) {
      if (whole[d] == 1) continue;
      if (target) return std::nullopt;
      target = d;
    }
    Expr position = Expr::integer(DType::i64, 0);
    for (size_t d = group.other_first; d < group.other_last; ++d) {
      if (view[d] == 1 && !has_outside(load)) continue;
      position = position * view[d] + load->operands[d];
      const auto range = interval_of(load->operands[d], extents);
      const bool inside = range && range->within({0, view[d] - 1});
      // Positions outside one dimension would lie inside another.
      if (!inside && (!target || group.other_last - group.other_first > 1)) return std::nullopt;
    }
    if (target) result[*target] = position;
  }
  return result;
}

Shape in_layout(const Shape& shape, const Layout& layout) {
  Shape result;
  for (const size_t d : layout) result.push_back(shape[d]);
  return result;
}

// Replaces every load of a value, or of views of it, by what `moved` makes of its index. False if
// something cannot be.
template <typename Fn>
bool move_loads(Workload& workload, int value, const Fn& moved) {
  bool possible = true;
  const Shape whole = workload.values[static_cast<size_t>(value)].type.shape;
  for (Stage& stage : workload.stages) {
    const Shape extents = stage.extents();
    const std::function<Expr(const Expr&)> replace = [&](const Expr& e) -> Expr {
      if (e->op != ExprOp::load || workload.storage(static_cast<int>(e->id)) != value) return {};
      const Shape& seen = workload.values[static_cast<size_t>(e->id)].type.shape;
      auto index = e->id == value ? std::optional(index_of(e)) : index_in(whole, seen, e, extents);
      if (!index) {
        possible = false;
        return e;
      }
      for (Expr& position : *index) position = rewrite(position, replace);
      return Expr::load(value, e.dtype(), moved(*index),
                        has_outside(e) ? rewrite(e->operands.back(), replace) : Expr{});
    };
    for (Expr& expr : stage.elements) expr = rewrite(expr, replace);
    for (Expr& expr : stage.results) expr = rewrite(expr, replace);
  }
  return possible;
}

bool is_output(const Workload& workload, int value) {
  return std::any_of(workload.outputs.begin(), workload.outputs.end(),
                     [&](int output) { return workload.storage(output) == value; });
}

// An input, which nothing else is made of.
bool move_input(Workload& workload, int value, const Layout& layout) {
  if (is_output(workload, value)) return false;
  const bool moved = move_loads(workload, value, [&](const std::vector<Expr>& index) {
    std::vector<Expr> result;
    for (const size_t d : layout) result.push_back(index[d]);
    return result;
  });
  Shape& shape = workload.values[static_cast<size_t>(value)].type.shape;
  shape = in_layout(shape, layout);
  return moved;
}

// What a stage makes: its axes come in another order.
bool move_output(Workload& workload, size_t which, const Layout& layout) {
  const int output = workload.outputs[which];
  const int value = workload.storage(output);
  const auto users = std::count_if(workload.outputs.begin(), workload.outputs.end(),
                                   [&](int o) { return workload.storage(o) == value; });
  const auto maker = std::find_if(
      workload.stages.begin(), workload.stages.end(),
      [&](const Stage& stage) { return stage.outputs.size() == 1 && stage.outputs[0] == value; });
  if (users != 1 || maker == workload.stages.end()) return false;
  const Shape wanted = workload.values[static_cast<size_t>(output)].type.shape;
  const Shape axes = maker->axes;
  // Each dimension of the output is some axes of the stage.
  std::vector<std::vector<size_t>> axes_of(wanted.size());
  for (const DimGroup& group : groups_of(wanted, axes)) {
    std::optional<size_t> target;
    for (size_t d = group.first; d < group.last; ++d) {
      if (wanted[d] == 1) continue;
      if (target) return false;
      target = d;
    }
    if (!target) target = std::min(group.first, wanted.size() - 1);
    for (size_t a = group.other_first; a < group.other_last; ++a) axes_of[*target].push_back(a);
  }
  std::vector<size_t> order;
  for (const size_t d : layout) {
    order.insert(order.end(), axes_of[d].begin(), axes_of[d].end());
  }

  const bool moved = move_loads(workload, value, [&](const std::vector<Expr>& index) {
    std::vector<Expr> result;
    for (const size_t a : order) result.push_back(index[a]);
    return result;
  });
  if (!moved) return false;
  const size_t rank = maker->extents().size();
  std::vector<Expr> to(rank);
  for (size_t i = 0; i < rank; ++i) {
    const size_t axis = i < order.size() ? order[i] : i;
    to[axis] = Expr::axis(static_cast<int64_t>(i));
    if (i < order.size()) maker->axes[i] = axes[axis];
  }
  for (Expr& expr : maker->elements) expr = with_axes(expr, to);
  for (Expr& expr : maker->results) expr = with_axes(expr, to);
  TensorType type = workload.values[static_cast<size_t>(output)].type;
  type.shape = in_layout(wanted, layout);
  workload.values[static_cast<size_t>(value)].type.shape = maker->axes;
  if (type.shape == maker->axes) {
    workload.outputs[which] = value;
  } else {
    workload.outputs[which] = static_cast<int>(workload.values.size());
    workload.values.push_back({.type = type, .view_of = value});
  }
  return true;
}

}  // namespace

Layout channels_last(size_t rank) {
  Layout layout(rank);
  std::iota(layout.begin(), layout.end(), size_t{0});
  std::rotate(layout.begin() + 1, layout.begin() + 2, layout.end());
  return layout;
}

std::optional<Task> with_layout(const Task& task, int value, const Layout& layout) {
  Task result = task;
  for (size_t i = 0; i < task.inputs.size(); ++i) {
    if (task.inputs[i] == value &&
        !move_input(result.workload, result.workload.inputs[i], layout)) {
      return std::nullopt;
    }
  }
  for (size_t i = 0; i < task.outputs.size(); ++i) {
    if (task.outputs[i] == value && !move_output(result.workload, i, layout)) return std::nullopt;
  }
  drop_unused_values(result.workload);
  return result;
}

}  // namespace aoe

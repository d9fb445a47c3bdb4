#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <numeric>

#include "expr/affine.h"
#include "expr/rewrite.h"
#include "plan/layout.h"
#include "plan/split.h"

// Rewrites a task for another layout of one of its values. An expression says which element it
// loads, not where the element lies, so another layout is another order of the positions of an
// index (inputs) or of the axes of a stage (outputs). In reading order:
//   groups_of, index_in         dimensions of a view in terms of the value that it is a view of
//   move_loads                  rewrites the indexes of all loads of a value
//   move_input, move_output     permute the dimensions of a value
//   split_input, split_output   before that, split the dimension of a blocked layout (plan/split.h)
//   with_layout                 does both for one graph value
//
// A pooling of %0 to %1, one load and one stage, in the three layouts of both values:
//
//   NCHW      %0 f32[1,64,56,56]     %1 f32[1,64,28,28] = max(r:2,s:2) %0[a, b, 2c + r, 2d + s]
//   NHWC      %0 f32[1,56,56,64]     %1 f32[1,28,28,64] = max(r:2,s:2) %0[a, 2b + r, 2c + s, d]
//   split     %0 f32[1,4,16,56,56]   %1 f32[1,4,16,28,28] = ... %0[a, b, c, 2d + r, 2e + s]
//   NCHW16c   %0 f32[1,4,56,56,16]   %1 f32[1,4,28,28,16] = ... %0[a, b, 2c + r, 2d + s, e]
//
// NHWC and the split follow from NCHW; NCHW16c is the split in another order.
//
// Invariant: the computation stays the same. A function that returns false may leave the workload
// partly rewritten; with_layout works on a copy.

namespace aoe {
namespace {

// Dimensions [first, last) of one shape and [other_first, other_last) of another that cover the
// same elements.
struct DimGroup {
  size_t first, last;
  size_t other_first, other_last;
};

// Divides two shapes of the same elements into the smallest groups with equal element counts. Equal
// dimensions at the beginning and at the end are matched first; between them, a dimension of extent
// 1 may be a group alone.
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

// Returns the index into `whole` of the element that `load` reads through a view of it, or nullopt
// if that takes a division.
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
      if (view[d] == 1 && !has_out_of_range_value(load)) continue;
      position = position * view[d] + load->operands[d];
      const auto range = interval_of(load->operands[d], extents);
      const bool inside = range && range->within({0, view[d] - 1});
      // A position outside its dimension would, after merging dimensions, be a valid one.
      if (!inside && (!target || group.other_last - group.other_first > 1)) return std::nullopt;
    }
    if (target) result[*target] = position;
  }
  return result;
}

using Order = std::vector<size_t>;

template <typename T>
std::vector<T> in_order(const std::vector<T>& of, const Order& order) {
  std::vector<T> result;
  for (const size_t d : order) result.push_back(of[d]);
  return result;
}

// Replaces every load of a value or of a view of it by a load of the value at the index that
// `moved` returns. Returns false if a load through a view would need a division.
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
                        has_out_of_range_value(e) ? rewrite(e->operands.back(), replace) : Expr{});
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

// Permutes the dimensions of an input of which no output is a view.
bool move_input(Workload& workload, int value, const Order& order) {
  const bool moved = move_loads(
      workload, value, [&](const std::vector<Expr>& index) { return in_order(index, order); });
  Shape& shape = workload.values[static_cast<size_t>(value)].type.shape;
  shape = in_order(shape, order);
  return moved;
}

// The stage that stores output `which` and nothing else; nullopt if there is none or if another
// output shares the storage.
std::optional<size_t> maker_of(const Workload& workload, size_t which) {
  const int value = workload.storage(workload.outputs[which]);
  const auto users = std::count_if(workload.outputs.begin(), workload.outputs.end(),
                                   [&](int o) { return workload.storage(o) == value; });
  const auto maker = std::find_if(
      workload.stages.begin(), workload.stages.end(),
      [&](const Stage& stage) { return stage.outputs.size() == 1 && stage.outputs[0] == value; });
  if (users != 1 || maker == workload.stages.end()) return std::nullopt;
  return static_cast<size_t>(maker - workload.stages.begin());
}

// Returns for each dimension of an output the axes of its stage that it consists of, or nullopt if
// an axis belongs to two dimensions.
std::optional<std::vector<std::vector<size_t>>> axes_of(const Shape& shape, const Shape& axes) {
  std::vector<std::vector<size_t>> result(shape.size());
  for (const DimGroup& group : groups_of(shape, axes)) {
    std::optional<size_t> target;
    for (size_t d = group.first; d < group.last; ++d) {
      if (shape[d] == 1) continue;
      if (target) return std::nullopt;
      target = d;
    }
    if (!target) target = std::min(group.first, shape.size() - 1);
    for (size_t a = group.other_first; a < group.other_last; ++a) result[*target].push_back(a);
  }
  return result;
}

// Permutes the dimensions of an output by permuting the axes of its stage.
bool move_output(Workload& workload, size_t which, const Order& dims) {
  const auto made_by = maker_of(workload, which);
  if (!made_by) return false;
  Stage* const maker = &workload.stages[*made_by];
  const int output = workload.outputs[which];
  const int value = workload.storage(output);
  const Shape wanted = workload.values[static_cast<size_t>(output)].type.shape;
  const Shape axes = maker->axes;
  const auto parts = axes_of(wanted, axes);
  if (!parts) return false;
  Order order;
  for (const size_t d : dims) order.insert(order.end(), (*parts)[d].begin(), (*parts)[d].end());

  const bool moved = move_loads(
      workload, value, [&](const std::vector<Expr>& index) { return in_order(index, order); });
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
  type.shape = in_order(wanted, dims);
  workload.values[static_cast<size_t>(value)].type.shape = maker->axes;
  if (type.shape == maker->axes) {
    workload.outputs[which] = value;
  } else {
    workload.outputs[which] = static_cast<int>(workload.values.size());
    workload.values.push_back({.type = type, .view_of = value});
  }
  return true;
}

// Splits the blocked dimension of an input. Loads through views become loads of the value first, so
// that they are split too.
bool split_input(Workload& workload, int value, const Layout& layout) {
  const auto as_it_is = [](const std::vector<Expr>& index) { return index; };
  return move_loads(workload, value, as_it_is) &&
         split_value(workload, value, layout.blocked, layout.block);
}

// Splits the blocked dimension of an output: the axis of its stage, and the output's shape, as a
// view.
bool split_output(Workload& workload, size_t which, const Layout& layout) {
  const auto maker = maker_of(workload, which);
  if (!maker) return false;
  const Shape shape = workload.values[static_cast<size_t>(workload.outputs[which])].type.shape;
  const Shape& axes = workload.stages[*maker].axes;
  const auto parts = axes_of(shape, axes);
  if (!parts) return false;
  // The innermost axis of the dimension, leaving aside those of extent 1.
  std::optional<size_t> inner;
  for (const size_t a : (*parts)[layout.blocked]) {
    if (axes[a] != 1) inner = a;
  }
  if (!inner || axes[*inner] % layout.block != 0) return false;
  if (axes[*inner] != layout.block) split_axis(workload, *maker, *inner, layout.block);
  const int value = workload.storage(workload.outputs[which]);
  TensorType type = workload.values[static_cast<size_t>(value)].type;
  type.shape = split(shape, layout.blocked, layout.block);
  workload.outputs[which] = static_cast<int>(workload.values.size());
  workload.values.push_back({.type = type, .view_of = value});
  return true;
}

// The order of the dimensions after the blocked one is split in two.
Order order_of(const Layout& layout) {
  if (layout.block == 1) return layout.order;
  Order order;
  for (const size_t d : layout.order) order.push_back(d > layout.blocked ? d + 1 : d);
  order.push_back(layout.blocked + 1);
  return order;
}

bool has_blocks(const Shape& shape, const Layout& layout) {
  return shape[layout.blocked] % layout.block == 0;
}

}  // namespace

Layout channels_first(size_t rank) {
  Layout layout{.order = Order(rank)};
  std::iota(layout.order.begin(), layout.order.end(), size_t{0});
  return layout;
}

Layout channels_last(size_t rank) {
  Layout layout = channels_first(rank);
  std::rotate(layout.order.begin() + 1, layout.order.begin() + 2, layout.order.end());
  return layout;
}

Layout channels_blocked(size_t rank, int64_t block) {
  Layout layout = channels_first(rank);
  layout.blocked = 1;
  layout.block = block;
  return layout;
}

std::string to_string(const Layout& layout) {
  constexpr std::string_view kNames[] = {"NCW", "NCHW", "NCDHW"};
  const size_t rank = layout.order.size();
  const auto letter = [&](size_t d) {
    return rank >= 3 && rank <= 5 ? std::string(1, kNames[rank - 3][d]) : std::to_string(d);
  };
  std::string text;
  for (const size_t d : layout.order) text += letter(d);
  if (layout.block == 1) return text;
  std::string last = letter(layout.blocked);
  for (char& c : last) c = static_cast<char>(std::tolower(c));
  return fmt::format("{}{}{}", text, layout.block, last);
}

std::optional<Task> with_layout(const Task& task, int value, const Layout& layout) {
  Task result = task;
  Workload& workload = result.workload;
  const Order order = order_of(layout);
  for (size_t i = 0; i < task.inputs.size(); ++i) {
    if (task.inputs[i] != value) continue;
    const int input = workload.inputs[i];
    if (is_output(workload, input)) return std::nullopt;
    if (layout.block > 1 &&
        (!has_blocks(workload.values[static_cast<size_t>(input)].type.shape, layout) ||
         !split_input(workload, input, layout))) {
      return std::nullopt;
    }
    if (!move_input(workload, input, order)) return std::nullopt;
  }
  for (size_t i = 0; i < task.outputs.size(); ++i) {
    if (task.outputs[i] != value) continue;
    const int output = workload.outputs[i];
    if (layout.block > 1 &&
        (!has_blocks(workload.values[static_cast<size_t>(output)].type.shape, layout) ||
         !split_output(workload, i, layout))) {
      return std::nullopt;
    }
    if (!move_output(workload, i, order)) return std::nullopt;
  }
  drop_unused_values(workload);
  return result;
}

}  // namespace aoe

#include "policy/packing.h"

#include "expr/rewrite.h"
#include "loop/copied_windows.h"
#include "loop/lower.h"
#include "policy/loop_defaults.h"

// Nests that pack the right side (B) of a product at run time, a block of kc x nc at a time: an
// implicit im2col. In reading order: packing_loop, the copy before it is lowered; by_rows, for
// strided windows with padding; packing_of, which takes by_rows where it applies. The order of the
// loops over the axes of the contraction, the outer points of the nest in parentheses:
//
//   otherwise   (outer, depth[0]), rest of the depth, columns
//   by_rows     (outer, depth[0], columns[0]), rest of the depth, rest of the columns
//
// Invariant: element (k, column) of the whole side goes to k * pitch + column. A call packs a part
// of it, and shifts the address of the buffer (program/build_product.cpp).

namespace aoe {
namespace {

// The packing loop before lowering, over the axes `order` of the stage, behind an axis of extent 1
// if `single`. Appends the buffers of its loads and, last, the one that it stores to.
Loop packing_loop(const Workload& workload, const Stage& stage, const Contraction& c,
                  const std::vector<size_t>& order, bool single, int64_t pitch,
                  std::vector<NestBuffer>& buffers) {
  const Shape extents = stage.extents();
  Shape axes(single ? 1 : 0, 1);
  std::vector<Expr> to(extents.size(), Expr::position(0));  // stage axis to loop axis
  for (const size_t axis : order) {
    to[axis] = Expr::axis(axes.size());
    axes.push_back(extents[axis]);
  }
  const Expr result = rewrite(with_axes(c.right, to), [&](const Expr& e) -> Expr {
    if (e->op != ExprOp::load) return {};
    buffers.push_back(buffer_over(workload, e->id));
    return Expr::load(static_cast<int64_t>(buffers.size()) - 1, e.dtype(), index_of(e),
                      out_of_range_value(e));
  });
  Expr offset = Expr::position(0);
  const auto along = [&](const std::vector<size_t>& of, int64_t step) {
    for (size_t i = of.size(); i-- > 0; step *= extents[of[i]]) offset = offset + to[of[i]] * step;
  };
  along(c.columns, 1);
  along(c.depth, pitch);
  buffers.push_back({stage.elements[0].dtype(), {c.depth_count * pitch}, -1, false});
  return plain_loop(axes, {result}, {{static_cast<int>(buffers.size()) - 1, offset}});
}

// Returns nothing if no load may leave its tensor, or one that may is not a strided window.
std::optional<Nest> by_rows(const Workload& workload, const Stage& stage, const Contraction& c,
                            int64_t pitch) {
  const bool leaves = any_node(
      c.right, [](const Expr& e) { return e->op == ExprOp::load && has_out_of_range_value(e); });
  if (!leaves || c.columns.size() < 2) return std::nullopt;
  std::vector<size_t> order = joined(c.outer, std::vector{c.depth[0], c.columns[0]});
  order.insert(order.end(), c.depth.begin() + 1, c.depth.end());
  order.insert(order.end(), c.columns.begin() + 1, c.columns.end());
  // Without outer axes the source has a batch dimension of 1: copy_windows_by_strips needs its
  // axis.
  const bool single = c.outer.empty();
  std::vector<NestBuffer> buffers;
  const Loop loop = packing_loop(workload, stage, c, order, single, pitch, buffers);
  return copy_windows_by_strips(buffers, loop, c.outer.size() + (single ? 2 : 1));
}

}  // namespace

bool packs_by_rows(const Workload& workload, const Stage& stage, const Contraction& c) {
  return by_rows(workload, stage, c, c.column_count).has_value();
}

std::optional<Nest> packing_nest(const Schedule& schedule, const ProductItem& item) {
  if (item.shape.right != Side::packed || item.shape.transformed) return std::nullopt;
  const Stage& stage = schedule.workload.stages[item.stage];
  return packing_of(schedule.workload, stage, *contraction_of(stage), item.shape.columns).nest;
}

NestPolicy packing_policy(const Packing& packing, const ProductPolicy& policy,
                          const Device& device) {
  // No streaming: packed blocks are read at once.
  return policy.packing.loops.empty() ? choose_loops(packing.nest, device, false) : policy.packing;
}

Packing packing_of(const Workload& workload, const Stage& stage, const Contraction& c,
                   int64_t pitch) {
  if (auto nest = by_rows(workload, stage, c, pitch)) return {std::move(*nest), true};
  Nest nest;
  const size_t outer = c.outer.size() + 1;
  size_t ranged = c.outer.size() + c.depth.size();
  Loop whole = packing_loop(workload, stage, c, joined(c.outer, c.depth, c.columns), false, pitch,
                            nest.buffers);
  whole = lower_loop(nest.buffers, std::move(whole), outer, &ranged);
  nest.outer = head(whole.extents, outer);
  nest.ranged_axis = static_cast<int>(ranged);
  nest.loops = {std::move(whole)};
  return {std::move(nest), false};
}

}  // namespace aoe

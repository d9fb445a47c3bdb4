#include "policy/packing.h"

#include "expr/rewrite.h"
#include "policy/loop_defaults.h"
#include "policy/lower.h"
#include "policy/window.h"

namespace aoe {
namespace {

// The loop before it is lowered, over the outer axes, windows, and others in some order.
class PackingLoop {
 public:
  PackingLoop(const Workload& workload, const Stage& stage, const Contraction& c)
      : workload_(workload), c_(c), extents_(stage.extents()), to_(extents_.size(), number(0)) {}

  void add(size_t axis) {
    to_[axis] = Expr::axis(static_cast<int64_t>(loop_.extents.size()));
    loop_.extents.push_back(extents_[axis]);
  }
  void add_single() { loop_.extents.push_back(1); }
  size_t axes() const { return loop_.extents.size(); }

  // With loads of buffers, and the last of these to store into.
  Loop finished(const Stage& stage, int64_t pitch, std::vector<NestBuffer>& buffers) {
    loop_.out_rank = loop_.extents.size();
    loop_.results = {rewrite(with_axes(c_.right, to_), [&](const Expr& e) -> Expr {
      if (e->op != ExprOp::load) return {};
      const int value = static_cast<int>(e->id);
      buffers.push_back({e.dtype(), workload_.values[static_cast<size_t>(value)].type.shape,
                         workload_.storage(value), false});
      const Expr outside = has_outside(e) ? e->operands.back() : Expr{};
      return Expr::load(static_cast<int64_t>(buffers.size()) - 1, e.dtype(), index_of(e), outside);
    })};
    Expr offset = number(0);
    const auto along = [&](const std::vector<size_t>& axes, int64_t step) {
      for (size_t i = axes.size(); i-- > 0; step *= extents_[axes[i]]) {
        offset = offset + to_[axes[i]] * step;
      }
    };
    along(c_.columns, 1);
    along(c_.depth, pitch);
    loop_.stores = {{static_cast<int>(buffers.size()), offset}};
    buffers.push_back({stage.elements[0].dtype(), {c_.depth_count * pitch}, -1, false});
    return std::move(loop_);
  }

 private:
  static Expr number(int64_t value) { return Expr::integer(DType::i64, value); }

  const Workload& workload_;
  const Contraction& c_;
  Shape extents_;
  std::vector<Expr> to_;  // the loop's axis for each of the stage's
  Loop loop_;
};

// Nothing if nothing reaches beyond its tensor, or something does otherwise than a window with
// steps.
std::optional<Nest> by_rows(const Workload& workload, const Stage& stage, const Contraction& c,
                            int64_t pitch) {
  bool leaves = false;
  for_each_node(c.right, [&](const Expr& e) {
    leaves = leaves || (e->op == ExprOp::load && has_outside(e));
  });
  if (!leaves || c.columns.size() < 2) return std::nullopt;
  PackingLoop loop(workload, stage, c);
  // What has a first dimension of one position has an axis for it, too.
  if (c.outer.empty()) loop.add_single();
  for (const size_t axis : c.outer) loop.add(axis);
  loop.add(c.depth[0]);
  const size_t strip = loop.axes();
  loop.add(c.columns[0]);
  for (size_t i = 1; i < c.depth.size(); ++i) loop.add(c.depth[i]);
  for (size_t i = 1; i < c.columns.size(); ++i) loop.add(c.columns[i]);
  std::vector<NestBuffer> buffers;
  Loop whole = loop.finished(stage, pitch, buffers);
  return windowed_strips(buffers, whole, strip);
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
  if (!policy.packing.loops.empty()) return policy.packing;
  NestPolicy loops = choose_loops(packing.nest, device);
  // What is packed is read at once.
  for (LoopPolicy& loop : loops.loops) loop.streaming = false;
  return loops;
}

Packing packing_of(const Workload& workload, const Stage& stage, const Contraction& c,
                   int64_t pitch) {
  if (auto nest = by_rows(workload, stage, c, pitch)) return {std::move(*nest), true};
  Nest nest;
  PackingLoop loop(workload, stage, c);
  for (const size_t axis : c.outer) loop.add(axis);
  for (const size_t axis : c.depth) loop.add(axis);
  const size_t outer = c.outer.size() + 1;
  size_t ranged = loop.axes();
  for (const size_t axis : c.columns) loop.add(axis);
  Loop whole = loop.finished(stage, pitch, nest.buffers);
  whole = lower_loop(nest.buffers, std::move(whole), outer, ranged);
  nest.outer.assign(whole.extents.begin(), whole.extents.begin() + static_cast<int64_t>(outer));
  nest.ranged_axis = static_cast<int>(ranged);
  nest.loops = {std::move(whole)};
  return {std::move(nest), false};
}

}  // namespace aoe

#include "policy/loop_defaults.h"

#include <algorithm>

#include "expr/affine.h"
#include "expr/rewrite.h"
#include "policy/schedule.h"
#include "policy/streaming.h"
#include "policy/validate.h"

namespace aoe {
namespace {

class LoopChoice {
 public:
  LoopChoice(const Nest& nest, const Loop& loop, const Device& device)
      : nest_(nest),
        loop_(loop),
        device_(device),
        outer_(nest.outer.size()),
        lanes_(most_lanes(loop, device)) {
    for_each_value(loop.values(), [&](const Expr& e) {
      costly_ += cost_of(e->op) >= OpCost::division ? 1 : 0;
      if (e->op == ExprOp::load) add_load(e);
    });
    for (const NestStore& store : loop.stores) {
      stores_.push_back(*affine_of(store.offset, loop.extents.size()));
    }
  }

  LoopPolicy choose() {
    LoopPolicy policy;
    policy.vector_axis = vector_axis();
    if (policy.vector_axis < 0) return policy;
    const int64_t extent = loop_.extents[static_cast<size_t>(policy.vector_axis)];
    policy.lanes = lanes_;
    while (policy.lanes / 2 >= extent) policy.lanes /= 2;
    if (policy.lanes <= 1) return {};
    const int64_t vectors = ceil_div(extent, policy.lanes);
    policy.unroll = static_cast<int>(std::min<int64_t>(vectors, wanted_unroll(policy)));
    choose_block(policy);
    return policy;
  }

 private:
  void add_load(const Expr& load) {
    const auto form =
        load->linear ? affine_of(load->operands[0], loop_.extents.size()) : std::nullopt;
    if (form) loads_.push_back(*form);
    else ++irregular_;
    if (!load->linear) guarded_.push_back(load);
  }

  // Whether every vector along an axis is either inside or outside the buffers of guarded loads:
  // the axis itself is their last position, and no other position depends on it.
  bool whole_along(size_t axis) const {
    return std::all_of(guarded_.begin(), guarded_.end(), [&](const Expr& load) {
      const auto last = static_cast<size_t>(load->rank) - 1;
      for (size_t d = 0; d < last; ++d) {
        if (depends_on_axis(load->operands[d], static_cast<int64_t>(axis))) return false;
      }
      return load->operands[last].is_axis(axis);
    });
  }

  // Relative cost of the memory accesses with vectors along an axis.
  double cost_along(size_t axis) const {
    double cost = 0;
    for (const Affine& load : loads_) {
      const int64_t s = load.coefficients[axis];
      if (s != 0 && s != 1) cost += s > 1 && s <= 4 ? 0.4 : 1;
    }
    for (const Affine& store : stores_) {
      if (store.coefficients[axis] != 1 && !loop_.is_reduced(axis)) cost += 2;
    }
    // Empty lanes.
    if (loop_.extents[axis] < lanes_) {
      cost += 0.5 * static_cast<double>(lanes_ - loop_.extents[axis]) / lanes_;
    }
    return cost;
  }

  int vector_axis() const {
    int best = -1;
    double best_cost = 1e9;
    for (size_t i = loop_.extents.size(); i-- > outer_;) {
      if (static_cast<int>(i) == nest_.ranged_axis || !may_be_vector_axis(loop_, outer_, i))
        continue;
      // A vector of partial sums has to be folded at the end.
      const double cost = cost_along(i) + (loop_.is_reduced(i) ? 0.3 : 0);
      if (cost < best_cost) {
        best_cost = cost;
        best = static_cast<int>(i);
      }
    }
    return best;
  }

  int wanted_unroll(const LoopPolicy& policy) const {
    if (!loop_.reducer) return costly_ > 0 ? 2 : 4;
    if (loop_.reducer->size() > 1) return 2;
    if (loop_.is_reduced(static_cast<size_t>(policy.vector_axis))) return 4;
    // A plain load per accumulator leaves registers for many accumulators, so that a step of the
    // reduction reads a long contiguous piece of memory.
    const bool plain = loop_.elements[0]->op == ExprOp::load && irregular_ == 0;
    return plain ? device_.vector_registers * 3 / 4 : device_.vector_registers / 4;
  }

  void choose_block(LoopPolicy& policy) const {
    const auto vector = static_cast<size_t>(policy.vector_axis);
    const auto set = [&](size_t axis, int64_t block, int most_unroll) {
      policy.block_axis = static_cast<int>(axis);
      policy.block = static_cast<int>(block);
      policy.unroll = std::min(policy.unroll, most_unroll);
    };
    if (loop_.is_reduced(vector)) {
      const int64_t rows = outer_ < loop_.out_rank ? loop_.extents[outer_] : 1;
      // Reducing tuples, as in arg max, is one chain of dependent instructions: other rows fill the
      // gaps.
      if (loop_.reducer->size() > 1 && rows >= 4) set(outer_, 4, 1);
      // Pairs of rows (pair_rows in loop/lower.cpp): one has work while the other folds its lanes.
      else if (rows == 2) set(outer_, 2, 2);
      return;
    }
    if (!loop_.reducer) {
      choose_transposition(policy);
      return;
    }
    // Windows of neighbouring rows overlap: a block of rows shares its loads.
    for (size_t axis = vector; axis-- > outer_;) {
      const bool shares = std::any_of(loads_.begin(), loads_.end(), [&](const Affine& load) {
        if (load.coefficients[axis] == 0) return false;
        for (size_t r = loop_.out_rank; r < loop_.extents.size(); ++r) {
          if (load.coefficients[r] == load.coefficients[axis]) return true;
        }
        return false;
      });
      if (!shares && irregular_ == 0) continue;
      // With linear loads, loaded vectors are not kept, and accumulators may take half of the
      // registers; more than eight gain nothing. With guarded loads they take fewer.
      int budget = std::min(8, device_.vector_registers / 2);
      int most = 4;
      if (!guarded_.empty() && whole_along(vector)) {
        budget = device_.vector_registers * 3 / 8;
        most = 3;
      } else if (!guarded_.empty()) {
        budget = device_.vector_registers / 4;
      }
      policy.unroll = std::min(policy.unroll, most);
      const int64_t rows = std::min<int64_t>(loop_.extents[axis], budget / policy.unroll);
      if (rows > 1) set(axis, rows, most);
      return;
    }
  }

  // If a load is contiguous along another axis than the vector axis, blocks that axis by as many
  // positions as there are lanes: the emitter reads along it and transposes in registers.
  void choose_transposition(LoopPolicy& policy) const {
    const auto vector = static_cast<size_t>(policy.vector_axis);
    for (const Affine& load : loads_) {
      const int64_t across = load.coefficients[vector];
      if (across == 0 || across == 1) continue;
      for (size_t axis = outer_; axis < loop_.out_rank; ++axis) {
        if (axis == vector || static_cast<int>(axis) == nest_.ranged_axis ||
            load.coefficients[axis] != 1 || loop_.extents[axis] < policy.lanes) {
          continue;
        }
        // Remainders are copied element by element: smaller squares may leave none.
        const auto leaves_nothing = [&](int lanes) {
          return loop_.extents[axis] % lanes == 0 && loop_.extents[vector] % lanes == 0;
        };
        const int half = policy.lanes / 2;
        if (!leaves_nothing(policy.lanes) && half > 1 && leaves_nothing(half)) policy.lanes = half;
        policy.block_axis = static_cast<int>(axis);
        policy.block = policy.lanes;
        policy.unroll = 1;
        return;
      }
    }
  }

  const Nest& nest_;
  const Loop& loop_;
  const Device& device_;
  size_t outer_;
  const int lanes_;  // of the widest vector
  std::vector<Affine> loads_;
  std::vector<Affine> stores_;
  int irregular_ = 0;          // loads that are not linear and affine
  std::vector<Expr> guarded_;  // loads that may leave their buffer
  int costly_ = 0;             // divisions and functions
};

}  // namespace

NestPolicy choose_loops(const Nest& nest, const Device& device, bool streams) {
  NestPolicy policy{.outer = static_cast<int>(nest.outer.size()), .loops = {}};
  for (const Loop& loop : nest.loops) {
    LoopPolicy chosen = LoopChoice(nest, loop, device).choose();
    chosen.streaming =
        streams && is_worth_streaming(nest, loop, device) && may_stream(nest, loop, chosen);
    policy.loops.push_back(chosen);
  }
  if (has_open_outer(nest)) policy.outer = most_outer(nest.loops[0], policy.loops[0]);
  return policy;
}

}  // namespace aoe

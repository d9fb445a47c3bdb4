#include "policy/loop_defaults.h"

#include <algorithm>
#include <set>

#include "expr/affine.h"
#include "expr/rewrite.h"
#include "policy/streaming.h"

namespace aoe {
namespace {

class LoopChoice {
 public:
  LoopChoice(const Nest& nest, const Loop& loop, const Device& device)
      : nest_(nest), loop_(loop), device_(device), outer_(nest.outer.size()) {
    for (const Expr& expr : loop.elements) look_at(expr);
    for (const Expr& expr : loop.results) look_at(expr);
    for (const NestStore& store : loop.stores) {
      stores_.push_back(*affine_of(store.offset, loop.extents.size()));
    }
  }

  LoopPolicy choose() {
    LoopPolicy policy;
    const int axis = vector_axis();
    if (axis < 0) return policy;
    policy.vector_axis = axis;
    const int64_t extent = loop_.extents[static_cast<size_t>(axis)];
    int lanes = device_.vector_bytes / widest_;
    while (lanes / 2 >= extent) lanes /= 2;
    policy.lanes = std::max(lanes, 1);
    if (policy.lanes == 1) return {};
    const int64_t vectors = ceil_div(extent, policy.lanes);
    policy.unroll = static_cast<int>(std::min<int64_t>(vectors, wanted_unroll(policy)));
    choose_block(policy);
    policy.streaming =
        is_worth_streaming(nest_, loop_, device_) && may_stream(nest_, loop_, policy);
    return policy;
  }

 private:
  // Not at the index of a load: it is computed once for a vector.
  void look_at(const Expr& e) {
    if (!seen_.insert(&*e).second) return;
    widen(e.dtype());
    costly_ += cost_of(e->op) >= OpCost::division ? 1 : 0;
    if (e->op == ExprOp::load) {
      add_load(e);
      if (has_outside(e)) look_at(e->operands.back());
      return;
    }
    for (const Expr& operand : e->operands) look_at(operand);
  }

  void add_load(const Expr& load) {
    if (load->linear) {
      if (const auto form = affine_of(load->operands[0], loop_.extents.size())) {
        loads_.push_back(*form);
        return;
      }
    }
    ++irregular_;
    if (!load->linear) guarded_.push_back(load);
  }

  // Whether vectors along an axis lie wholly inside or wholly outside what they load.
  bool whole_along(size_t axis) const {
    return std::all_of(guarded_.begin(), guarded_.end(), [&](const Expr& load) {
      const auto last = static_cast<size_t>(load->rank) - 1;
      for (size_t d = 0; d < last; ++d) {
        if (depends_on_axis(load->operands[d], static_cast<int64_t>(axis))) return false;
      }
      return load->operands[last]->op == ExprOp::axis &&
             load->operands[last]->id == static_cast<int64_t>(axis);
    });
  }

  void widen(DType dtype) {
    if (dtype == DType::boolean) return;
    widest_ = std::max(widest_, info(dtype).bytes);
  }

  int64_t stride(const Affine& form, size_t axis) const { return form.coefficients[axis]; }

  // What vectors along an axis make of the memory accesses; less is better.
  double cost_along(size_t axis) const {
    double cost = 0;
    for (const Affine& load : loads_) {
      const int64_t s = stride(load, axis);
      if (s != 0 && s != 1) cost += s > 1 && s <= 4 ? 0.4 : 1;
    }
    for (const Affine& store : stores_) {
      const int64_t s = stride(store, axis);
      if (s != 1 && !loop_.is_reduced(axis)) cost += 2;
    }
    // Lanes that stay empty.
    const int64_t lanes = device_.vector_bytes / widest_;
    if (loop_.extents[axis] < lanes) {
      cost += 0.5 * static_cast<double>(lanes - loop_.extents[axis]) / static_cast<double>(lanes);
    }
    return cost;
  }

  int vector_axis() const {
    int best = -1;
    double best_cost = 1e9;
    for (size_t i = loop_.extents.size(); i-- > outer_;) {
      if (static_cast<int>(i) == nest_.ranged_axis) continue;
      const bool last_reduced =
          i + 1 == loop_.extents.size() && loop_.is_reduced(i) && is_standard(*loop_.reducer);
      if (loop_.extents[i] < 2 || (loop_.is_reduced(i) && !last_reduced)) continue;
      // A reduction over lanes pays for folding them.
      const double cost = cost_along(i) + (loop_.is_reduced(i) ? 0.3 : 0);
      if (cost < best_cost) {
        best_cost = cost;
        best = static_cast<int>(i);
      }
    }
    return best;
  }

  int wanted_unroll(const LoopPolicy& policy) const {
    const bool reduced = loop_.reducer.has_value();
    if (!reduced) return costly_ > 0 ? 2 : 4;
    if (loop_.is_reduced(static_cast<size_t>(policy.vector_axis))) {
      return loop_.reducer->size() > 1 ? 2 : 4;
    }
    if (loop_.reducer->size() > 1) return 2;
    // One load and one sum for each vector leave room for many, so that a step of the reduction
    // reads a long piece of memory.
    const bool plain = loop_.elements[0]->op == ExprOp::load && irregular_ == 0;
    return plain ? device_.vector_registers * 3 / 4 : device_.vector_registers / 4;
  }

  void choose_block(LoopPolicy& policy) const {
    const auto vector = static_cast<size_t>(policy.vector_axis);
    if (loop_.is_reduced(vector)) {
      // What several numbers are kept of, as the largest and its place, is one chain of steps that
      // wait for each other: rows beside each other fill the time.
      if (loop_.reducer->size() > 1 && outer_ < loop_.out_rank && loop_.extents[outer_] >= 4) {
        policy.block_axis = static_cast<int>(outer_);
        policy.block = 4;
        policy.unroll = 1;
        return;
      }
      // Rows that are reduced side by side wait for each other's last steps less.
      if (outer_ < loop_.out_rank && loop_.extents[outer_] == 2) {
        policy.block_axis = static_cast<int>(outer_);
        policy.block = 2;
        policy.unroll = std::min(policy.unroll, 2);
      }
      return;
    }
    if (!loop_.reducer) {
      choose_transposition(policy);
      return;
    }
    // Windows overlap from row to row: neighbouring rows share what they load.
    for (size_t axis = vector; axis-- > outer_;) {
      const bool shares = std::any_of(loads_.begin(), loads_.end(), [&](const Affine& load) {
        if (stride(load, axis) == 0) return false;
        for (size_t r = loop_.out_rank; r < loop_.extents.size(); ++r) {
          if (stride(load, r) == stride(load, axis)) return true;
        }
        return false;
      });
      if (!shares && irregular_ == 0) continue;
      // Where addresses are known, what is loaded is not kept, and sums may take half of the
      // registers; more than eight at once gain nothing.
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
      if (rows > 1) {
        policy.block_axis = static_cast<int>(axis);
        policy.block = static_cast<int>(rows);
      }
      return;
    }
  }

  // Memory that is contiguous along another axis than the vectors' is read along that one.
  void choose_transposition(LoopPolicy& policy) const {
    const auto vector = static_cast<size_t>(policy.vector_axis);
    for (const Affine& load : loads_) {
      const int64_t across = stride(load, vector);
      if (across == 0 || across == 1) continue;
      for (size_t axis = outer_; axis < loop_.out_rank; ++axis) {
        if (axis == vector || stride(load, axis) != 1) continue;
        if (static_cast<int>(axis) == nest_.ranged_axis) continue;
        if (loop_.extents[axis] < policy.lanes) continue;
        // What is left over is moved element by element: smaller squares may leave nothing.
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
  std::set<const Expr::Node*> seen_;
  std::vector<Affine> loads_;
  std::vector<Affine> stores_;
  int irregular_ = 0;
  std::vector<Expr> guarded_;  // loads that may lie outside
  int costly_ = 0;
  int widest_ = 4;
};

// The axes before the first one that the loop's core needs.
int outer_axes(const Loop& loop, const LoopPolicy& policy) {
  int outer = static_cast<int>(loop.out_rank);
  for (const int axis : {policy.vector_axis, policy.block_axis}) {
    if (axis >= 0) outer = std::min(outer, axis);
  }
  return outer;
}

}  // namespace

NestPolicy choose_loops(const Nest& nest, const Device& device) {
  NestPolicy policy{.outer = static_cast<int>(nest.outer.size()), .loops = {}};
  for (const Loop& loop : nest.loops) {
    policy.loops.push_back(LoopChoice(nest, loop, device).choose());
  }
  if (nest.loops.size() == 1 && nest.outer.empty()) {
    policy.outer = outer_axes(nest.loops[0], policy.loops[0]);
  }
  return policy;
}

}  // namespace aoe

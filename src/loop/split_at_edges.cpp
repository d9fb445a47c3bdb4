#include "loop/split_at_edges.h"

#include <algorithm>
#include <set>

#include "expr/affine.h"
#include "expr/rewrite.h"

namespace aoe {
namespace {

// A loop with more parts than this stays unsplit: the code would grow more than it gains.
constexpr size_t kMostParts = 32;

using Cuts = std::vector<std::set<int64_t>>;  // for each axis: the positions where a part begins

// Adds a cut at the position where `difference`, affine in one axis, changes its sign.
void cut_where_zero(const Expr& difference, const Loop& loop, size_t outer, Cuts& cuts) {
  const size_t rank = loop.extents.size();
  const auto form = affine_of(difference, rank);
  if (!form) return;
  size_t axis = rank;
  for (size_t i = 0; i < rank; ++i) {
    if (form->coefficients[i] == 0 || loop.extents[i] == 1) continue;
    // Depends on two axes: a short one is cut at every position, so that the expression depends on
    // the other one alone, which the next round cuts.
    if (axis < rank) {
      constexpr int64_t kShort = 4;
      for (const size_t one : {axis, i}) {
        if (one < outer || one >= loop.out_rank || loop.extents[one] > kShort) continue;
        for (int64_t p = 1; p < loop.extents[one]; ++p) cuts[one].insert(p);
      }
      return;
    }
    axis = i;
  }
  if (axis < outer || axis >= loop.out_rank) return;
  const int64_t factor = form->coefficients[axis];
  // The first position whose sign differs from that of the positions before it.
  const int64_t at =
      factor > 0 ? ceil_div(-form->constant, factor) : floor_div(form->constant, -factor) + 1;
  if (at > 0 && at < loop.extents[axis]) cuts[axis].insert(at);
}

Cuts cuts_of(const std::vector<NestBuffer>& buffers, const Loop& loop, size_t outer) {
  Cuts cuts(loop.out_rank);
  const auto cut = [&](const Expr& zero) { cut_where_zero(zero, loop, outer, cuts); };
  const auto look = [&](const Expr& e) {
    if (e->op == ExprOp::load && has_out_of_range_value(e)) {
      const Shape& shape = buffers[static_cast<size_t>(e->id)].shape;
      for (size_t d = 0; d < shape.size(); ++d) {
        cut(e->operands[d]);
        cut(e->operands[d] - shape[d]);
      }
    } else if (e->op == ExprOp::lt || e->op == ExprOp::le) {
      if (e->operands[0].dtype() != DType::i64) return;
      cut(e->operands[0] - e->operands[1] - (e->op == ExprOp::le ? 1 : 0));
    }
  };
  for (const Expr& result : loop.results) for_each_node(result, look);
  return cuts;
}

// Whether a load is out of range at all positions.
bool is_outside(const std::vector<NestBuffer>& buffers, const Expr& load, const Shape& extents) {
  if (!has_out_of_range_value(load)) return false;
  const Shape& shape = buffers[static_cast<size_t>(load->id)].shape;
  for (size_t d = 0; d < shape.size(); ++d) {
    const auto range = interval_of(load->operands[d], extents);
    if (range && (range->high < 0 || range->low >= shape[d])) return true;
  }
  return false;
}

// Replaces selects whose condition is the same in the whole loop by the branch that is taken, and
// loads that are out of range in the whole loop by their out-of-range value.
void simplify_results(const std::vector<NestBuffer>& buffers, Loop& loop) {
  Rewriter simplified([&](const Expr& e) -> Expr {
    if (e->op == ExprOp::select) {
      if (const auto taken = taken_branch(e, loop.extents)) return simplified(*taken);
    } else if (e->op == ExprOp::load && is_outside(buffers, e, loop.extents)) {
      return simplified(e->operands.back());
    }
    return {};
  });
  for (Expr& result : loop.results) result = simplified(result);
}

}  // namespace

std::vector<Loop> parts_of(const std::vector<NestBuffer>& buffers, const Loop& loop, size_t outer) {
  if (loop.reducer || element_count(loop.extents) == 0) return {loop};
  std::vector<Loop> parts{loop};
  // Two rounds: cutting an axis may make an expression depend on a single other axis.
  for (int round = 0; round < 2; ++round) {
    std::vector<Loop> next;
    for (const Loop& part : parts) {
      const Cuts cuts = cuts_of(buffers, part, outer);
      std::vector<Loop> pieces{part};
      for (size_t axis = 0; axis < cuts.size(); ++axis) {
        if (cuts[axis].empty()) continue;
        std::vector<int64_t> bounds{0};
        bounds.insert(bounds.end(), cuts[axis].begin(), cuts[axis].end());
        bounds.push_back(part.extents[axis]);
        std::vector<Loop> cut;
        for (const Loop& piece : pieces) {
          for (size_t i = 0; i + 1 < bounds.size(); ++i) {
            cut.push_back(piece);
            cut.back().narrow(axis, bounds[i], bounds[i + 1] - bounds[i]);
          }
        }
        pieces = std::move(cut);
        if (pieces.size() > kMostParts) return {loop};
      }
      for (Loop& piece : pieces) {
        simplify_results(buffers, piece);
        next.push_back(std::move(piece));
      }
      if (next.size() > kMostParts) return {loop};
    }
    parts = std::move(next);
  }
  return parts;
}

}  // namespace aoe

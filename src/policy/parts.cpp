#include "policy/parts.h"

#include <algorithm>
#include <set>

#include "expr/affine.h"
#include "expr/rewrite.h"

namespace aoe {
namespace {

// More parts are more code than they save.
constexpr size_t kMostParts = 32;

using Cuts = std::vector<std::set<int64_t>>;  // for each axis: where a part begins

class CutFinder {
 public:
  CutFinder(const Loop& loop, size_t outer) : loop_(loop), outer_(outer), cuts_(loop.out_rank) {}

  Cuts find(const std::vector<NestBuffer>& buffers) {
    const auto look = [&](const Expr& e) {
      if (e->op == ExprOp::lt && e->operands[0].dtype() == DType::i64) {
        cut_where_zero(e->operands[0] - e->operands[1]);
      } else if (e->op == ExprOp::le && e->operands[0].dtype() == DType::i64) {
        cut_where_zero(e->operands[0] - e->operands[1] - 1);
      } else if (e->op == ExprOp::load && has_outside(e)) {
        const Shape& shape = buffers[static_cast<size_t>(e->id)].shape;
        for (size_t d = 0; d < shape.size(); ++d) {
          cut_where_zero(e->operands[d]);
          cut_where_zero(e->operands[d] - shape[d]);
        }
      }
    };
    for (const Expr& result : loop_.results) for_each_node(result, look);
    return std::move(cuts_);
  }

 private:
  // Where an expression of one axis goes from negative to not negative, or back.
  void cut_where_zero(const Expr& difference) {
    const auto form = affine_of(difference, loop_.extents.size());
    if (!form) return;
    size_t axis = loop_.extents.size();
    for (size_t i = 0; i < form->coefficients.size(); ++i) {
      if (form->coefficients[i] == 0 || loop_.extents[i] == 1) continue;
      // Positions of two axes: a short one is cut apart, so that the other can be cut at all.
      if (axis < loop_.extents.size()) {
        constexpr int64_t kShort = 4;
        for (const size_t short_axis : {axis, i}) {
          if (short_axis < outer_ || short_axis >= loop_.out_rank ||
              loop_.extents[short_axis] > kShort) {
            continue;
          }
          for (int64_t p = 1; p < loop_.extents[short_axis]; ++p) cuts_[short_axis].insert(p);
        }
        return;
      }
      axis = i;
    }
    if (axis < outer_ || axis >= loop_.out_rank) return;
    const int64_t factor = form->coefficients[axis];
    // The first position with another sign than those before it.
    const int64_t at =
        factor > 0 ? ceil_div(-form->constant, factor) : floor_div(form->constant, -factor) + 1;
    if (at > 0 && at < loop_.extents[axis]) cuts_[axis].insert(at);
  }

  const Loop& loop_;
  size_t outer_;
  Cuts cuts_;
};

// The loop from `first` on along an axis, for `extent` positions.
Loop part_of(Loop loop, size_t axis, int64_t first, int64_t extent) {
  loop.extents[axis] = extent;
  std::vector<Expr> axes;
  for (size_t i = 0; i < loop.extents.size(); ++i) {
    axes.push_back(Expr::axis(static_cast<int64_t>(i)));
  }
  axes[axis] = axes[axis] + first;
  for (Expr& result : loop.results) result = with_axes(result, axes);
  for (NestStore& store : loop.stores) store.offset = with_axes(store.offset, axes);
  return loop;
}

// Loads that lie outside wherever the loop goes are what stands for the outside.
Expr without_outside_loads(const std::vector<NestBuffer>& buffers, const Expr& expr,
                           const Shape& extents) {
  return rewrite(expr, [&](const Expr& e) -> Expr {
    if (e->op != ExprOp::load || !has_outside(e)) return {};
    const Shape& shape = buffers[static_cast<size_t>(e->id)].shape;
    for (size_t d = 0; d < shape.size(); ++d) {
      const auto range = interval_of(e->operands[d], extents);
      if (range && (range->high < 0 || range->low >= shape[d])) {
        return without_outside_loads(buffers, e->operands.back(), extents);
      }
    }
    return {};
  });
}

}  // namespace

std::vector<Loop> parts_of(const std::vector<NestBuffer>& buffers, const Loop& loop, size_t outer) {
  if (loop.reducer || element_count(loop.extents) == 0) return {loop};
  std::vector<Loop> parts{loop};
  // Cutting one axis may show where to cut another.
  for (int round = 0; round < 2; ++round) {
    std::vector<Loop> next;
    for (const Loop& part : parts) {
      const Cuts cuts = CutFinder(part, outer).find(buffers);
      std::vector<Loop> pieces{part};
      for (size_t axis = 0; axis < cuts.size(); ++axis) {
        if (cuts[axis].empty()) continue;
        std::vector<int64_t> bounds{0};
        bounds.insert(bounds.end(), cuts[axis].begin(), cuts[axis].end());
        bounds.push_back(part.extents[axis]);
        std::vector<Loop> cut;
        for (const Loop& piece : pieces) {
          for (size_t i = 0; i + 1 < bounds.size(); ++i) {
            cut.push_back(part_of(piece, axis, bounds[i], bounds[i + 1] - bounds[i]));
          }
        }
        pieces = std::move(cut);
        if (pieces.size() > kMostParts) return {loop};
      }
      for (Loop& piece : pieces) {
        for (Expr& result : piece.results) {
          result = without_outside_loads(buffers, decided(result, piece.extents), piece.extents);
        }
        next.push_back(std::move(piece));
      }
      if (next.size() > kMostParts) return {loop};
    }
    parts = std::move(next);
  }
  return parts;
}

}  // namespace aoe

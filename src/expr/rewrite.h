#pragma once

#include <functional>
#include <optional>
#include <set>
#include <unordered_map>

#include "expr/workload.h"

namespace aoe {

// Replaces every node for which `replace` returns an expression, outermost first; replacements are
// not rewritten again. Constant index arithmetic is folded. Nodes that several expressions share
// are rewritten once and stay shared: the results of a loop have most of their nodes in common.
class Rewriter {
 public:
  using Replace = std::function<Expr(const Expr&)>;

  explicit Rewriter(Replace replace) : replace_(std::move(replace)) {}

  Expr operator()(const Expr& expr);

 private:
  // Keys are addresses, so the nodes that have them must not be freed.
  struct Rewritten {
    Expr from;
    Expr to;
  };

  Expr rebuilt(const Expr& expr);

  Replace replace_;
  std::unordered_map<const Expr::Node*, Rewritten> done_;
};

// The same for one expression.
Expr rewrite(const Expr& expr, const Rewriter::Replace& replace);

// Replaces axis i by `axes[i]`.
Expr with_axes(const Expr& expr, const std::vector<Expr>& axes);
Rewriter axes_rewriter(const std::vector<Expr>& axes);

// An argument for with_axes: `axis` becomes `position`, and the axes after it move by `shift`.
std::vector<Expr> moved_axes(size_t count, size_t axis, const Expr& position, int shift);

// The branch of a select that is taken, if the condition is the same for all positions; else none.
std::optional<Expr> taken_branch(const Expr& select, const Shape& extents);

// Calls `visit` once for every node, in pre-order.
void for_each_node(const Expr& expr, const std::function<void(const Expr&)>& visit);

// Whether `holds` is true for any node.
bool any_node(const Expr& expr, const std::function<bool(const Expr&)>& holds);

// Whether the expression contains this axis.
bool depends_on_axis(const Expr& expr, int64_t axis);

// Calls `visit` for the loads in the elements and results of a stage, also for those in indexes.
void for_each_load(const Stage& stage, const std::function<void(const Expr&)>& visit);

inline bool has_out_of_range_value(const Expr& load) {
  return load->operands.size() > static_cast<size_t>(load->rank);
}
inline std::vector<Expr> index_of(const Expr& load) {
  return {load->operands.begin(), load->operands.begin() + load->rank};
}
inline Expr out_of_range_value(const Expr& load) {
  return has_out_of_range_value(load) ? load->operands.back() : Expr{};
}

// Whether the index of a load contains another load.
bool is_lookup(const Expr& load);

// Whether an index is the position along `axis`, which is 0 if its extent is 1.
inline bool follows_axis(const Expr& index, size_t axis, int64_t extent) {
  return index.is_axis(axis) || (extent == 1 && index.is_integer(0));
}

// The values (not views) that hold the elements that a stage loads.
std::set<int> loaded_by(const Workload& workload, const Stage& stage);
// Whether an output of the workload is `value` or a view of it.
bool is_result(const Workload& workload, int value);

}  // namespace aoe

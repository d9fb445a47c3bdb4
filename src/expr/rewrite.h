#pragma once

#include <functional>
#include <set>

#include "expr/workload.h"

namespace aoe {

// The expression with every node for which `replace` gives something replaced by it, outermost
// first; what it gives is not looked at again. Shared parts stay shared, and known index arithmetic
// is folded.
Expr rewrite(const Expr& expr, const std::function<Expr(const Expr&)>& replace);

// Axis i becomes `axes[i]`.
Expr with_axes(const Expr& expr, const std::vector<Expr>& axes);

// Axes of which one becomes `position`, and those behind it move by `shift`.
std::vector<Expr> moved_axes(size_t count, size_t axis, const Expr& position, int shift);

// Selects whose condition the axes' extents decide are decided.
Expr decided(const Expr& expr, const Shape& extents);

// Calls `visit` once for every node, operands after what uses them.
void for_each_node(const Expr& expr, const std::function<void(const Expr&)>& visit);

// Whether any node fulfils it.
bool any_node(const Expr& expr, const std::function<bool(const Expr&)>& holds);

// Whether the value changes with this axis.
bool depends_on_axis(const Expr& expr, int64_t axis);

// Calls `visit` for the loads of each of a stage's expressions, also those in indexes.
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

// Whether a load is indexed by what another one loads.
bool is_lookup(const Expr& load);

// Whether an index is an axis, or 0 if that has one position only.
inline bool follows_axis(const Expr& index, size_t axis, int64_t extent) {
  return index.is_axis(axis) || (extent == 1 && index.is_integer(0));
}

// The values that hold what a stage loads.
std::set<int> loaded_by(const Workload& workload, const Stage& stage);
// Whether the caller wants what a value holds.
bool is_result(const Workload& workload, int value);

}  // namespace aoe

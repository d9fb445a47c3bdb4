#pragma once

#include <functional>

#include "base/shape.h"
#include "expr/expr.h"

namespace aoe {

// The expression with every node for which `replace` gives something replaced by it, outermost
// first; what it gives is not looked at again. Shared parts stay shared, and known index arithmetic
// is folded.
Expr rewrite(const Expr& expr, const std::function<Expr(const Expr&)>& replace);

// Axis i becomes `axes[i]`.
Expr with_axes(const Expr& expr, const std::vector<Expr>& axes);

// Selects whose condition the axes' extents decide are decided.
Expr decided(const Expr& expr, const Shape& extents);

// Calls `visit` once for every node, operands after what uses them.
void for_each_node(const Expr& expr, const std::function<void(const Expr&)>& visit);

// Whether any node fulfils it.
bool any_node(const Expr& expr, const std::function<bool(const Expr&)>& holds);

// Whether the value changes with this axis.
bool depends_on_axis(const Expr& expr, int64_t axis);

inline bool has_outside(const Expr& load) {
  return load->operands.size() > static_cast<size_t>(load->rank);
}
inline std::vector<Expr> index_of(const Expr& load) {
  return {load->operands.begin(), load->operands.begin() + load->rank};
}

}  // namespace aoe

#include "expr/rewrite.h"

#include <algorithm>
#include <set>

#include "expr/affine.h"

namespace aoe {
namespace {

// Folds the division of constant positions, which arises from unrolled taps.
Expr divided(ExprOp op, const Expr& a, const Expr& b) {
  const bool known =
      a.dtype() == DType::i64 && a.is_constant() && b.is_constant() && a->id >= 0 && b->id > 0;
  if (known && op == ExprOp::div) return Expr::integer(DType::i64, a->id / b->id);
  if (known && (op == ExprOp::mod || op == ExprOp::rem)) {
    return Expr::integer(DType::i64, a->id % b->id);
  }
  return binary(op, a, b);
}

// The outcome of a comparison if it is the same for all positions, else none.
std::optional<bool> outcome(const Expr& condition, const Shape& extents) {
  const ExprOp op = condition->op;
  if (op != ExprOp::lt && op != ExprOp::le && op != ExprOp::eq) return std::nullopt;
  if (condition->operands[0].dtype() != DType::i64) return std::nullopt;
  const auto a = interval_of(condition->operands[0], extents);
  const auto b = interval_of(condition->operands[1], extents);
  if (!a || !b) return std::nullopt;
  switch (op) {
    case ExprOp::lt:
      if (a->high < b->low) return true;
      if (a->low >= b->high) return false;
      return std::nullopt;
    case ExprOp::le:
      if (a->high <= b->low) return true;
      if (a->low > b->high) return false;
      return std::nullopt;
    default:
      if (a->high < b->low || b->high < a->low) return false;
      if (a->low == a->high && b->low == b->high && a->low == b->low) return true;
      return std::nullopt;
  }
}

}  // namespace

Expr Rewriter::operator()(const Expr& expr) {
  const auto known = done_.find(&*expr);
  if (known != done_.end()) return known->second.to;
  const Expr replaced = replace_(expr);
  const Expr to = replaced ? replaced : rebuilt(expr);
  done_.try_emplace(&*expr, Rewritten{expr, to});
  return to;
}

Expr Rewriter::rebuilt(const Expr& expr) {
  std::vector<Expr> operands;
  operands.reserve(expr->operands.size());
  bool same = true;
  for (const Expr& operand : expr->operands) {
    operands.push_back((*this)(operand));
    same = same && &*operands.back() == &*operand;
  }
  if (same) return expr;
  switch (expr->op) {
    case ExprOp::load: {
      Expr::Node load = *expr;
      load.operands = std::move(operands);
      return Expr(std::move(load));
    }
    case ExprOp::cast: return cast(expr.dtype(), operands[0]);
    case ExprOp::select: return select(operands[0], operands[1], operands[2]);
    default: break;
  }
  if (operands.size() == 1) return unary(expr->op, operands[0]);
  return divided(expr->op, operands[0], operands[1]);
}

Expr rewrite(const Expr& expr, const Rewriter::Replace& replace) { return Rewriter(replace)(expr); }

Rewriter axes_rewriter(const std::vector<Expr>& axes) {
  return Rewriter([&axes](const Expr& e) {
    return e->op == ExprOp::axis ? axes[static_cast<size_t>(e->id)] : Expr{};
  });
}

Expr with_axes(const Expr& expr, const std::vector<Expr>& axes) {
  return axes_rewriter(axes)(expr);
}

std::vector<Expr> moved_axes(size_t count, size_t axis, const Expr& position, int shift) {
  std::vector<Expr> axes = axes_from(0, count);
  axes[axis] = position;
  for (size_t i = axis + 1; i < count; ++i) axes[i] = Expr::axis(static_cast<int64_t>(i) + shift);
  return axes;
}

std::optional<Expr> taken_branch(const Expr& select, const Shape& extents) {
  const auto known = outcome(select->operands[0], extents);
  if (!known) return std::nullopt;
  return select->operands[*known ? 1 : 2];
}

void for_each_node(const Expr& expr, const std::function<void(const Expr&)>& visit) {
  std::set<const Expr::Node*> seen;
  const std::function<void(const Expr&)> visit_node = [&](const Expr& e) {
    if (!seen.insert(&*e).second) return;
    visit(e);
    for (const Expr& operand : e->operands) visit_node(operand);
  };
  visit_node(expr);
}

bool any_node(const Expr& expr, const std::function<bool(const Expr&)>& holds) {
  bool found = false;
  for_each_node(expr, [&](const Expr& e) { found = found || holds(e); });
  return found;
}

void for_each_load(const Stage& stage, const std::function<void(const Expr&)>& visit) {
  const auto look = [&](const Expr& e) {
    if (e->op == ExprOp::load) visit(e);
  };
  for (const Expr& expr : stage.elements) for_each_node(expr, look);
  for (const Expr& expr : stage.results) for_each_node(expr, look);
}

bool is_lookup(const Expr& load) {
  const std::vector<Expr> index = index_of(load);
  return std::any_of(index.begin(), index.end(), [](const Expr& position) {
    return any_node(position, [](const Expr& e) { return e->op == ExprOp::load; });
  });
}

bool depends_on_axis(const Expr& expr, int64_t axis) {
  return any_node(expr, [&](const Expr& e) { return e->op == ExprOp::axis && e->id == axis; });
}

std::set<int> loaded_by(const Workload& workload, const Stage& stage) {
  std::set<int> values;
  for_each_load(stage, [&](const Expr& load) {
    values.insert(workload.storage(static_cast<int>(load->id)));
  });
  return values;
}

bool is_result(const Workload& workload, int value) {
  return std::any_of(workload.outputs.begin(), workload.outputs.end(),
                     [&](int output) { return workload.storage(output) == value; });
}

}  // namespace aoe

#include "expr/expr_table.h"

#include <algorithm>
#include <bit>

namespace aoe {

int ExprTable::add(const Expr& expr) {
  if (const auto known = by_node_.find(&*expr); known != by_node_.end()) return known->second;
  Entry entry;
  bool shared = true;  // every operand is the canonical node of its entry
  for (const Expr& operand : expr->operands) {
    const int id = add(operand);
    const Entry& child = entries_[static_cast<size_t>(id)];
    shared = shared && &*child.expr == &*operand;
    entry.operands.push_back(id);
    entry.size = std::min(kHuge, entry.size + child.size);
    entry.height = std::max(entry.height, child.height + 1);
  }
  const Key key{expr->op,   expr->dtype,   expr->id, std::bit_cast<uint64_t>(expr->number),
                expr->rank, entry.operands};
  const auto [found, is_new] = by_structure_.try_emplace(key, static_cast<int>(entries_.size()));
  if (is_new) {
    entry.expr = expr;
    if (!shared) {
      Expr::Node node = *expr;
      for (size_t i = 0; i < node.operands.size(); ++i) {
        node.operands[i] = entries_[static_cast<size_t>(entry.operands[i])].expr;
      }
      entry.expr = Expr(std::move(node));
      by_node_.emplace(&*entry.expr, found->second);
    }
    entries_.push_back(std::move(entry));
  }
  by_node_.emplace(&*expr, found->second);
  kept_.push_back(expr);
  return found->second;
}

}  // namespace aoe

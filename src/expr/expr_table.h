#pragma once

#include <map>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "expr/expr.h"

namespace aoe {

// Expressions by structure (hash-consing): equal ones have one entry, whichever nodes they have.
class ExprTable {
 public:
  struct Entry {
    Expr expr;                  // the canonical node, whose operands are canonical too
    std::vector<int> operands;  // their entries
    int64_t size = 1;           // number of nodes as a tree, at most kHuge
    int height = 0;             // 0 for a leaf
  };
  static constexpr int64_t kHuge = int64_t{1} << 60;

  // Returns the entry of `expr`, which it adds if there is none.
  int add(const Expr& expr);
  const Entry& operator[](int entry) const { return entries_[static_cast<size_t>(entry)]; }
  size_t size() const { return entries_.size(); }

 private:
  using Key = std::tuple<ExprOp, DType, int64_t, uint64_t, int, std::vector<int>>;

  std::vector<Entry> entries_;
  std::map<Key, int> by_structure_;
  std::unordered_map<const Expr::Node*, int> by_node_;
  std::vector<Expr> kept_;  // keeps the nodes of by_node_ alive: their addresses must stay unique
};

}  // namespace aoe

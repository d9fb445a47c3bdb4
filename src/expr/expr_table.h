#pragma once

#include <map>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "expr/expr.h"

namespace aoe {

// Expressions by their structure: equal ones have one entry, whichever nodes they are made of.
class ExprTable {
 public:
  struct Entry {
    Expr expr;                  // the first that was met; its operands are the operands' entries'
    std::vector<int> operands;  // entries
    int64_t size = 1;           // nodes, were it written out as a tree; kHuge if there are more
    int height = 0;             // of a leaf: 0
  };
  static constexpr int64_t kHuge = int64_t{1} << 60;

  // The entry of `expr`, new or not.
  int add(const Expr& expr);
  const Entry& operator[](int entry) const { return entries_[static_cast<size_t>(entry)]; }
  size_t size() const { return entries_.size(); }

 private:
  using Key = std::tuple<ExprOp, DType, int64_t, uint64_t, int, std::vector<int>>;

  std::vector<Entry> entries_;
  std::map<Key, int> by_structure_;
  std::unordered_map<const Expr::Node*, int> by_node_;
  std::vector<Expr> kept_;  // a node that is gone could give its address to another
};

}  // namespace aoe

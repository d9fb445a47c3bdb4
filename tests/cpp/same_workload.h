#pragma once

#include <cstring>
#include <string>

#include "expr/expr_table.h"
#include "expr/workload.h"

namespace aoe {

// Returns the first difference between two workloads, down to the types of subexpressions, or an
// empty string.
inline std::string difference_between(const Workload& a, const Workload& b) {
  const auto same_exprs = [](const std::vector<Expr>& x, const std::vector<Expr>& y) {
    ExprTable table;
    bool same = x.size() == y.size();
    for (size_t i = 0; same && i < x.size(); ++i) same = table.add(x[i]) == table.add(y[i]);
    return same;
  };
  if (a.inputs != b.inputs) return "inputs";
  if (a.outputs != b.outputs) return "outputs";
  if (a.values.size() != b.values.size()) return "the number of values";
  for (size_t i = 0; i < a.values.size(); ++i) {
    const Workload::Value& x = a.values[i];
    const Workload::Value& y = b.values[i];
    if (x.type != y.type || x.view_of != y.view_of) return "a value";
    if (x.constant.empty() != y.constant.empty()) return "a constant";
    if (!x.constant.empty() && std::memcmp(x.constant.raw(), y.constant.raw(),
                                           static_cast<size_t>(x.constant.bytes())) != 0) {
      return "the contents of a constant";
    }
  }
  if (a.stages.size() != b.stages.size()) return "the number of stages";
  for (size_t i = 0; i < a.stages.size(); ++i) {
    const Stage& x = a.stages[i];
    const Stage& y = b.stages[i];
    if (x.axes != y.axes || x.reduce_axes != y.reduce_axes || x.outputs != y.outputs) {
      return "a stage";
    }
    if (!same_exprs(x.elements, y.elements)) return "elements";
    if (!same_exprs(x.results, y.results)) return "results";
    if (x.reducer.has_value() != y.reducer.has_value()) return "a reducer";
    if (!x.reducer) continue;
    if (x.reducer->name != y.reducer->name) return "the name of a reducer";
    if (!same_exprs(x.reducer->identity, y.reducer->identity)) return "an identity";
    if (!same_exprs(x.reducer->combine, y.reducer->combine)) return "a combination";
  }
  return "";
}

}  // namespace aoe

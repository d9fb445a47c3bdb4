#include "policy/fusion.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <set>

#include "expr/rewrite.h"

namespace aoe {

void for_each_load(const Stage& stage, const std::function<void(const Expr&)>& visit) {
  const auto look = [&](const Expr& e) {
    if (e->op == ExprOp::load) visit(e);
  };
  for (const Expr& expr : stage.elements) for_each_node(expr, look);
  for (const Expr& expr : stage.results) for_each_node(expr, look);
}

namespace {

// A written-in expression may not grow beyond this.
constexpr int64_t kLargestInlined = 64;

struct Uses {
  int stages = 0;           // that load it
  int64_t most_points = 0;  // iterations of the busiest of them
  bool through_view = false;
  bool result = false;
  bool with_outside = false;
  bool looked_up = false;  // at positions that are themselves loaded, and checked against its shape
};

// The values that hold what a stage loads, in order.
std::vector<int> loaded_by(const Workload& workload, const Stage& stage) {
  std::vector<int> values;
  for_each_load(stage, [&](const Expr& load) {
    values.push_back(workload.storage(static_cast<int>(load->id)));
  });
  std::sort(values.begin(), values.end());
  values.erase(std::unique(values.begin(), values.end()), values.end());
  return values;
}

// What each stage loads, so that not every stage is walked through for every value.
using Loaded = std::vector<std::vector<int>>;

bool is_loaded(const std::vector<int>& loaded, int value) {
  return std::binary_search(loaded.begin(), loaded.end(), value);
}

Uses uses_of(const Workload& workload, const Loaded& loaded, int value) {
  Uses uses;
  for (size_t s = 0; s < workload.stages.size(); ++s) {
    if (!is_loaded(loaded[s], value)) continue;
    const Stage& stage = workload.stages[s];
    for_each_load(stage, [&](const Expr& load) {
      if (workload.storage(static_cast<int>(load->id)) != value) return;
      if (load->id != value) uses.through_view = true;
      if (has_outside(load)) uses.with_outside = true;
      for (const Expr& position : index_of(load)) {
        uses.looked_up = uses.looked_up ||
                         any_node(position, [](const Expr& e) { return e->op == ExprOp::load; });
      }
    });
    ++uses.stages;
    uses.most_points = std::max(uses.most_points, element_count(stage.extents()));
  }
  for (const int output : workload.outputs) {
    uses.result = uses.result || workload.storage(output) == value;
  }
  return uses;
}

bool can_inline(const Workload& workload, const Loaded& loaded, const Stage& stage) {
  if (stage.reducer || stage.results.size() != 1) return false;
  const Uses uses = uses_of(workload, loaded, stage.outputs[0]);
  if (uses.result || uses.through_view || uses.with_outside || uses.looked_up || uses.stages == 0)
    return false;
  int64_t costly = 0;
  int64_t nodes = 0;
  for_each_node(stage.results[0], [&](const Expr& e) {
    ++nodes;
    costly += cost_of(e->op) >= OpCost::division ? 1 : 0;
  });
  if (nodes > kLargestInlined) return false;
  const bool repeats = uses.stages > 1 || uses.most_points > element_count(stage.axes);
  return !repeats || (costly == 0 && nodes <= 8 && uses.stages <= 2 &&
                      uses.most_points <= element_count(stage.axes));
}

Expr with_inlined(const Expr& expr, int value, const Expr& body) {
  return rewrite(expr, [&](const Expr& e) -> Expr {
    if (e->op != ExprOp::load || e->id != value) return {};
    std::vector<Expr> index;
    for (const Expr& position : index_of(e)) index.push_back(with_inlined(position, value, body));
    return with_axes(body, index);
  });
}

}  // namespace

bool meets_at_same_point(const Workload& workload, const Stage& stage, const std::set<int>& made,
                         const Shape& shared, size_t outer) {
  if (stage.axes.size() < outer) return false;
  for (size_t i = 0; i < outer; ++i) {
    if (stage.axes[i] != shared[i]) return false;
  }
  bool aligned = true;
  for_each_load(stage, [&](const Expr& load) {
    const auto value = static_cast<int>(load->id);
    if (!made.contains(workload.storage(value))) return;
    const Shape& shape = workload.values[static_cast<size_t>(value)].type.shape;
    const Shape& whole = workload.values[static_cast<size_t>(workload.storage(value))].type.shape;
    aligned = aligned && shape.size() >= outer && whole.size() >= outer;
    for (size_t i = 0; aligned && i < outer; ++i) {
      const Expr& index = load->operands[i];
      const bool same = index->op == ExprOp::axis && index->id == static_cast<int64_t>(i);
      aligned = shape[i] == shared[i] && whole[i] == shared[i] &&
                (same || (shared[i] == 1 && index.is_integer(0)));
    }
  });
  return aligned;
}

namespace {

// Whether a stage goes across memory in a row: neighbours lie along an axis that would be shared.
bool goes_across(const Stage& stage, size_t outer) {
  const auto depends_on = [&](const Expr& index, size_t first, size_t last) {
    for (size_t axis = first; axis < last; ++axis) {
      if (depends_on_axis(index, static_cast<int64_t>(axis))) return true;
    }
    return false;
  };
  const size_t rank = stage.extents().size();
  bool across = false;
  for_each_load(stage, [&](const Expr& load) {
    const std::vector<Expr> index = index_of(load);
    if (index.empty()) return;
    const bool inside = std::any_of(index.begin(), index.end(), [&](const Expr& position) {
      return depends_on(position, outer, rank);
    });
    across = across || (inside && depends_on(index.back(), 0, outer) &&
                        !depends_on(index.back(), outer, rank));
  });
  return across;
}

// How many axes to share, at most `limit`: all but what a row needs to be worth a vector.
size_t rows_worth(const Workload& workload, const std::vector<size_t>& stages, size_t limit) {
  constexpr int64_t kShortRow = 16;
  const auto longest_row = [&](size_t outer) {
    int64_t longest = 1;
    for (const size_t s : stages) {
      const Shape all = workload.stages[s].extents();
      longest =
          std::max(longest, element_count({all.begin() + static_cast<int64_t>(outer), all.end()}));
    }
    return longest;
  };
  const auto across = [&](size_t outer) {
    return std::any_of(stages.begin(), stages.end(),
                       [&](size_t s) { return goes_across(workload.stages[s], outer); });
  };
  while (limit > 0 && (longest_row(limit) < kShortRow || across(limit))) --limit;
  return limit;
}

}  // namespace

Workload inlined(const Workload& workload, const std::vector<bool>& may,
                 std::vector<size_t>& left) {
  Workload result = workload;
  left.resize(result.stages.size());
  std::iota(left.begin(), left.end(), size_t{0});
  Loaded loaded;
  for (const Stage& stage : result.stages) loaded.push_back(loaded_by(result, stage));
  for (size_t s = 0; s < result.stages.size();) {
    if (!may[left[s]] || !can_inline(result, loaded, result.stages[s])) {
      ++s;
      continue;
    }
    const int value = result.stages[s].outputs[0];
    const Expr body = result.stages[s].results[0];
    result.stages.erase(result.stages.begin() + static_cast<int64_t>(s));
    left.erase(left.begin() + static_cast<int64_t>(s));
    loaded.erase(loaded.begin() + static_cast<int64_t>(s));
    for (size_t i = 0; i < result.stages.size(); ++i) {
      if (!is_loaded(loaded[i], value)) continue;
      Stage& stage = result.stages[i];
      for (Expr& expr : stage.elements) expr = with_inlined(expr, value, body);
      for (Expr& expr : stage.results) expr = with_inlined(expr, value, body);
      loaded[i] = loaded_by(result, stage);
    }
  }
  return result;
}

std::vector<Group> groups_of(const Workload& workload, const std::vector<bool>& alone,
                             const std::vector<int>& loop_of, const std::vector<StripLoop>& loops) {
  std::vector<Group> groups;
  const auto strip_axes = [&](size_t s) {
    return loop_of[s] < 0 ? 0 : loops[static_cast<size_t>(loop_of[s])].axes;
  };
  std::set<int> made;
  bool closed = true;
  for (size_t s = 0; s < workload.stages.size(); ++s) {
    const Stage& stage = workload.stages[s];
    if (!closed && !alone[s] && loop_of[s] == loop_of[s - 1]) {
      Group& group = groups.back();
      const Shape& shared = workload.stages[group.stages[0]].axes;
      size_t outer = std::min(group.outer, stage.axes.size());
      while (outer > 0 && !meets_at_same_point(workload, stage, made, shared, outer)) --outer;
      std::vector<size_t> stages = group.stages;
      stages.push_back(s);
      outer = rows_worth(workload, stages, outer);
      if (outer > 0 && outer >= group.strip_axes) {
        group.stages.push_back(s);
        group.outer = outer;
        made.insert(stage.outputs.begin(), stage.outputs.end());
        continue;
      }
    }
    groups.push_back({{s}, stage.axes.size(), strip_axes(s)});
    made = {stage.outputs.begin(), stage.outputs.end()};
    closed = alone[s];
  }
  // A single stage chooses its outer axes by its loops.
  for (Group& group : groups) {
    if (group.stages.size() == 1) group.outer = group.strip_axes;
  }
  return groups;
}

bool is_internal(const Workload& workload, const Group& group, int value) {
  const int storage = workload.storage(value);
  for (const int output : workload.outputs) {
    if (workload.storage(output) == storage) return false;
  }
  const bool made_here = std::any_of(group.stages.begin(), group.stages.end(), [&](size_t s) {
    const std::vector<int>& made = workload.stages[s].outputs;
    return std::find(made.begin(), made.end(), storage) != made.end();
  });
  if (!made_here) return false;
  for (size_t s = 0; s < workload.stages.size(); ++s) {
    // They are in order.
    if (std::binary_search(group.stages.begin(), group.stages.end(), s)) continue;
    bool used = false;
    for_each_load(workload.stages[s], [&](const Expr& load) {
      used = used || workload.storage(static_cast<int>(load->id)) == storage;
    });
    if (used) return false;
  }
  return true;
}

}  // namespace aoe

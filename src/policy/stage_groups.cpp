#include "policy/stage_groups.h"

#include <algorithm>
#include <numeric>
#include <set>

#include "expr/rewrite.h"

// Decides which stages share a loop nest. In reading order:
//   can_inline, inline_stages        elementwise stages disappear into their consumers
//   is_strided_inside, shared_axes   how many leading axes it pays to share
//   reads_same_outer_point           whether they may be shared
//   groups_of                        each stage joins the group before it, or begins another
//
// Softmax is one group with the outer axis a: each stage reads what the others compute for the same
// a only.
//
//   %1[a] = max(r) %0[a, r]     %2[a] = sum(r) exp(%0[a, r] - %1[a])     %3[a, b] = ... / %2[a]
//
// Invariant: the stages of a group are consecutive and exchange values at the same outer point
// only, so that threads can divide the outer points.

namespace aoe {
namespace {

// Most nodes of an expression that is inlined.
constexpr int64_t kLargestInlined = 64;

// The values that each stage loads, cached because can_inline asks for every stage.
using Loaded = std::vector<std::set<int>>;

bool can_inline(const Workload& workload, const Loaded& loaded, const Stage& stage) {
  if (stage.reducer || stage.results.size() != 1) return false;
  const int value = stage.outputs[0];
  if (is_result(workload, value)) return false;
  int users = 0;            // stages that load the value
  int64_t most_points = 0;  // most iterations of a user
  bool in_memory = false;   // some load needs the value in memory
  for (size_t s = 0; s < workload.stages.size(); ++s) {
    if (!loaded[s].contains(value)) continue;
    for_each_load(workload.stages[s], [&](const Expr& load) {
      if (workload.storage(static_cast<int>(load->id)) != value) return;
      // Loads through a view, beyond the edges, or at loaded positions, which are checked against
      // its shape.
      in_memory = in_memory || load->id != value || has_out_of_range_value(load) || is_lookup(load);
    });
    ++users;
    most_points = std::max(most_points, element_count(workload.stages[s].extents()));
  }
  if (in_memory || users == 0) return false;
  int64_t costly = 0;
  int64_t nodes = 0;
  for_each_node(stage.results[0], [&](const Expr& e) {
    ++nodes;
    costly += cost_of(e->op) >= OpCost::division ? 1 : 0;
  });
  if (nodes > kLargestInlined) return false;
  if (most_points > element_count(stage.axes)) return false;
  return users == 1 || (users == 2 && costly == 0 && nodes <= 8);
}

Expr with_inlined(const Expr& expr, int value, const Expr& body) {
  return rewrite(expr, [&](const Expr& e) -> Expr {
    if (e->op != ExprOp::load || e->id != value) return {};
    std::vector<Expr> index = index_of(e);
    for (Expr& position : index) position = with_inlined(position, value, body);
    return with_axes(body, index);
  });
}

// Whether the loops inside an outer point go across memory: some load depends on them, but its last
// dimension is indexed by the first `outer` axes only.
bool is_strided_inside(const Stage& stage, size_t outer) {
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

// Number of axes to share, at most `limit`: the most that leave rows of kShortRow elements and no
// stage that goes across memory.
size_t shared_axes(const Workload& workload, const std::vector<size_t>& stages, size_t limit) {
  constexpr int64_t kShortRow = 16;
  const auto are_worth = [&](size_t outer) {
    int64_t longest = 1;
    for (const size_t s : stages) {
      const Stage& stage = workload.stages[s];
      if (is_strided_inside(stage, outer)) return false;
      longest = std::max(longest, element_count(tail(stage.extents(), outer)));
    }
    return longest >= kShortRow;
  };
  while (limit > 0 && !are_worth(limit)) --limit;
  return limit;
}

}  // namespace

bool reads_same_outer_point(const Workload& workload, const Stage& stage, const std::set<int>& made,
                            const Shape& shared, size_t outer) {
  const auto is_shared = [&](const Shape& shape) {
    return shape.size() >= outer &&
           std::equal(shape.begin(), shape.begin() + static_cast<int64_t>(outer), shared.begin());
  };
  bool aligned = is_shared(stage.axes);
  for_each_load(stage, [&](const Expr& load) {
    const auto value = static_cast<int>(load->id);
    if (!made.contains(workload.storage(value))) return;
    aligned = aligned && is_shared(workload.type_of(value).shape) &&
              is_shared(workload.type_of(workload.storage(value)).shape);
    for (size_t i = 0; aligned && i < outer; ++i) {
      aligned = follows_axis(load->operands[i], i, shared[i]);
    }
  });
  return aligned;
}

Workload inline_stages(const Workload& workload, const std::vector<bool>& may,
                       std::vector<size_t>& original_stage) {
  Workload result = workload;
  original_stage.resize(result.stages.size());
  std::iota(original_stage.begin(), original_stage.end(), size_t{0});
  Loaded loaded;
  for (const Stage& stage : result.stages) loaded.push_back(loaded_by(result, stage));
  for (size_t s = 0; s < result.stages.size();) {
    if (!may[original_stage[s]] || !can_inline(result, loaded, result.stages[s])) {
      ++s;
      continue;
    }
    const int value = result.stages[s].outputs[0];
    const Expr body = result.stages[s].results[0];
    result.stages.erase(result.stages.begin() + static_cast<int64_t>(s));
    original_stage.erase(original_stage.begin() + static_cast<int64_t>(s));
    loaded.erase(loaded.begin() + static_cast<int64_t>(s));
    for (size_t i = 0; i < result.stages.size(); ++i) {
      if (!loaded[i].contains(value)) continue;
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
  std::set<int> made;
  bool closed = true;
  for (size_t s = 0; s < workload.stages.size(); ++s) {
    const Stage& stage = workload.stages[s];
    if (!closed && !alone[s] && loop_of[s] == loop_of[s - 1]) {
      Group& group = groups.back();
      const Shape& shared = workload.stages[group.stages[0]].axes;
      size_t outer = std::min(group.outer, stage.axes.size());
      while (outer > 0 && !reads_same_outer_point(workload, stage, made, shared, outer)) --outer;
      std::vector<size_t> stages = group.stages;
      stages.push_back(s);
      outer = shared_axes(workload, stages, outer);
      if (outer > 0 && outer >= group.strip_axes) {
        group.stages.push_back(s);
        group.outer = outer;
        made.insert(stage.outputs.begin(), stage.outputs.end());
        continue;
      }
    }
    const size_t strip_axes = loop_of[s] < 0 ? 0 : loops[static_cast<size_t>(loop_of[s])].axes;
    groups.push_back({{s}, stage.axes.size(), strip_axes});
    made = {stage.outputs.begin(), stage.outputs.end()};
    closed = alone[s];
  }
  // The outer axes of a single stage follow from its loop policy.
  for (Group& group : groups) {
    if (group.stages.size() == 1) group.outer = group.strip_axes;
  }
  return groups;
}

}  // namespace aoe

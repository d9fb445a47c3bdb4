#include "plan/epilogue.h"

#include <algorithm>
#include <map>

#include "expr/rewrite.h"

namespace aoe {
namespace {

// Maximum number of expression nodes. More code than that at the end of every tile takes longer
// than a separate pass over memory.
constexpr int64_t kLargestEpilogue = 96;

int64_t nodes_of(const Expr& expr) {
  int64_t count = 0;
  for_each_node(expr, [&](const Expr&) { ++count; });
  return count;
}

// Returns the position along each axis of `coarse` as an expression over the axes of `fine`, whose
// shape must be that of `coarse` with axes split further (or equal), else nullopt.
std::optional<std::vector<Expr>> positions_in(const Shape& coarse, const Shape& fine) {
  std::vector<Expr> positions;
  size_t next = 0;
  for (const int64_t extent : coarse) {
    Expr position = Expr::integer(DType::i64, 0);
    int64_t covered = 1;
    while (covered < extent && next < fine.size()) {
      if (fine[next] > 1) {
        covered *= fine[next];
        position = position * fine[next] + Expr::axis(static_cast<int64_t>(next));
      }
      ++next;
    }
    if (covered != extent) return std::nullopt;
    positions.push_back(position);
  }
  return element_count(coarse) == element_count(fine) ? std::optional(positions) : std::nullopt;
}

class Epilogue {
 public:
  Epilogue(Task whole, size_t reduction) : task_(std::move(whole)), reduction_(reduction) {}

  std::optional<Task> make() {
    Workload& workload = task_.workload;
    Stage& reduction = workload.stages[reduction_];
    const Stage last = workload.stages.back();
    sums_ = reduction.outputs[0];
    if (element_count(last.axes) == 0) return std::nullopt;
    for (size_t s = reduction_ + 1; s < workload.stages.size(); ++s) {
      const Stage& stage = workload.stages[s];
      const Expr body = inlined(stage.results[0]);
      if (!possible_ || nodes_of(body) > kLargestEpilogue) return std::nullopt;
      bodies_[stage.outputs[0]] = body;
    }
    Expr result = bodies_[last.outputs[0]];
    const auto positions = positions_in(last.axes, reduction.axes);
    if (!positions || !meets_sums_in_order(result, last.axes)) return std::nullopt;
    const Expr sum = reduction.results[0];
    result = rewrite(with_axes(result, *positions), [&](const Expr& e) {
      return e->op == ExprOp::load && is_sums(e->id) ? sum : Expr{};
    });

    const int output = last.outputs[0];
    workload.stages.resize(reduction_ + 1);
    workload.stages[reduction_].results = {result};
    workload.stages[reduction_].outputs = {output};
    const TensorType type = workload.values[static_cast<size_t>(output)].type;
    if (type.shape != last.axes) return std::nullopt;
    const Shape axes = workload.stages[reduction_].axes;
    if (axes != last.axes) {
      // The result is stored in the shape of the sums; the output is a view of it.
      workload.values[static_cast<size_t>(output)].type.shape = axes;
      for (int& wanted : workload.outputs) {
        if (wanted == output) wanted = static_cast<int>(workload.values.size());
      }
      workload.values.push_back({.type = type, .view_of = output});
    }
    drop_unused_values(workload);
    return std::move(task_);
  }

 private:
  bool is_sums(int64_t value) const {
    return task_.workload.storage(static_cast<int>(value)) == sums_;
  }

  // Returns the expression with loads of the stages after the reduction replaced by what these
  // compute. Clears `possible_` if it loads what an epilogue cannot.
  Expr inlined(const Expr& expr) {
    return rewrite(expr, [&](const Expr& e) -> Expr {
      if (e->op != ExprOp::load) return {};
      if (is_lookup(e) || has_out_of_range_value(e)) possible_ = false;
      const auto value = static_cast<int>(e->id);
      const auto body = bodies_.find(value);
      if (body != bodies_.end()) return with_axes(body->second, index_of(e));
      // A view of such a stage's value in another shape.
      if (bodies_.contains(task_.workload.storage(value))) possible_ = false;
      return {};
    });
  }

  // Whether each result of the last stage reads sums, and only the one at its own position.
  bool meets_sums_in_order(const Expr& result, const Shape& axes) const {
    bool any = false;
    bool in_order = true;
    for_each_node(result, [&](const Expr& e) {
      if (e->op != ExprOp::load || !is_sums(e->id)) return;
      any = true;
      const Shape& shape = task_.workload.values[static_cast<size_t>(e->id)].type.shape;
      in_order = in_order && shape == axes;
      for (size_t d = 0; in_order && d < shape.size(); ++d) {
        const Expr& index = e->operands[d];
        in_order = (index->op == ExprOp::axis && index->id == static_cast<int64_t>(d)) ||
                   (shape[d] == 1 && index.is_integer(0));
      }
    });
    return any && in_order;
  }

  Task task_;
  size_t reduction_;            // index of the stage that gets the epilogue
  int sums_ = -1;               // the value that this stage stores
  std::map<int, Expr> bodies_;  // by value of a later stage: what it computes, over its axes
  bool possible_ = true;
};

}  // namespace

std::optional<Task> with_epilogue(const Task& first, const Task& second) {
  const Workload& workload = first.workload;
  if (first.outputs.size() != 1 || workload.outputs.size() != 1 || workload.stages.empty() ||
      !is_elementwise(second)) {
    return std::nullopt;
  }
  const Stage& last = workload.stages.back();
  if (!last.reducer || last.results.size() != 1 || last.outputs.size() != 1 ||
      workload.storage(workload.outputs[0]) != last.outputs[0]) {
    return std::nullopt;
  }
  return Epilogue(composed(first, second), workload.stages.size() - 1).make();
}

}  // namespace aoe

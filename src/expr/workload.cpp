#include "expr/workload.h"

#include <algorithm>
#include <functional>
#include <set>

#include "expr/affine.h"
#include "expr/rewrite.h"

namespace aoe {
namespace {

class Verifier {
 public:
  Verifier(const Workload& workload, const Stage& stage)
      : workload_(workload), extents_(stage.extents()) {}

  // `guarded`: inside a branch of a select, which may not be taken where a load is out of bounds.
  void check(const Expr& expr, bool guarded) {
    if (!seen_.insert({&*expr, guarded}).second) return;
    if (expr->op == ExprOp::load) check_load(expr, guarded);
    for (size_t i = 0; i < expr->operands.size(); ++i) {
      check(expr->operands[i], guarded || (expr->op == ExprOp::select && i > 0));
    }
  }

 private:
  void check_load(const Expr& load, bool guarded) {
    const auto id = static_cast<size_t>(load->id);
    require(id < workload_.values.size(), "a load of value {}, which does not exist", id);
    const TensorType& type = workload_.values[id].type;
    require(static_cast<size_t>(load->rank) == type.shape.size(), "an index of {} numbers into {}",
            load->rank, to_string(type));
    for (size_t i = 0; i < type.shape.size(); ++i) {
      bool overflows = false;
      const auto range = interval_of(load->operands[i], extents_, overflows);
      require(!overflows, "an index along axis {} of {} overflows", i, to_string(type));
      if (has_out_of_range_value(load) || guarded) continue;
      require(!range || range->within({0, type.shape[i] - 1}),
              "an index along axis {} of {} runs from {} to {}", i, to_string(type), range->low,
              range->high);
    }
  }

  const Workload& workload_;
  Shape extents_;
  std::set<std::pair<const Expr::Node*, bool>> seen_;
};

}  // namespace

Shape Stage::extents() const {
  Shape all = axes;
  all.insert(all.end(), reduce_axes.begin(), reduce_axes.end());
  return all;
}

int Workload::storage(int value) const {
  while (values[static_cast<size_t>(value)].view_of >= 0) {
    value = values[static_cast<size_t>(value)].view_of;
  }
  return value;
}

void verify(const Workload& workload) {
  for (const Stage& stage : workload.stages) {
    if (element_count(stage.axes) == 0) continue;
    Verifier verifier(workload, stage);
    for (const Expr& result : stage.results) verifier.check(result, false);
    if (element_count(stage.reduce_axes) == 0) continue;
    for (const Expr& element : stage.elements) verifier.check(element, false);
  }
}

int64_t work_of(const Workload& workload) {
  int64_t total = 0;
  for (const Stage& stage : workload.stages) {
    const int64_t points = element_count(stage.axes);
    const int64_t each = std::max<int64_t>(1, element_count(stage.reduce_axes));
    total = checked_add(total, checked_mul(points, each));
  }
  return total;
}

namespace {

double operations_in(const Expr& expr) {
  double count = 0;
  std::set<const Expr::Node*> seen;
  const std::function<void(const Expr&)> visit_node = [&](const Expr& e) {
    if (!seen.insert(&*e).second) return;
    switch (e->op) {
      case ExprOp::constant:
      case ExprOp::axis:
      case ExprOp::load:
      case ExprOp::arg: return;
      case ExprOp::cast:
      case ExprOp::select: break;
      default: count += 1;
    }
    for (const Expr& operand : e->operands) visit_node(operand);
  };
  visit_node(expr);
  return count;
}

}  // namespace

double operations_of(const Workload& workload) {
  double total = 0;
  for (const Stage& stage : workload.stages) {
    double each = 0;
    for (const Expr& element : stage.elements) each += operations_in(element);
    if (stage.reducer) {
      for (const Expr& combine : stage.reducer->combine) each += operations_in(combine);
    }
    total += each * static_cast<double>(element_count(stage.extents()));
    each = 0;
    for (const Expr& result : stage.results) each += operations_in(result);
    total += each * static_cast<double>(element_count(stage.axes));
  }
  return total;
}

double bytes_of(const Workload& workload) {
  double total = 0;
  for (const std::vector<int>* values : {&workload.inputs, &workload.outputs}) {
    for (const int id : *values) {
      total += static_cast<double>(bytes_of(workload.values[static_cast<size_t>(id)].type));
    }
  }
  return total;
}

}  // namespace aoe

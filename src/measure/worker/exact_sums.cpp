#include "measure/worker/exact_sums.h"

#include <algorithm>
#include <cmath>
#include <unordered_map>

#include "expr/rewrite.h"

namespace aoe {
namespace {

using Places = std::optional<int>;

// More places leave no room for sums.
constexpr int kMostPlaces = 8;

Places places_of(double number) {
  for (int places = 0; places <= kMostPlaces; ++places) {
    const double scaled = std::ldexp(number, places);
    if (std::isfinite(number) && scaled == std::trunc(scaled)) return places;
  }
  return std::nullopt;
}

Places larger(Places a, Places b) {
  if (!a || !b) return std::nullopt;
  return std::max(*a, *b);
}

class WorkloadPlaces {
 public:
  explicit WorkloadPlaces(const Workload& workload)
      : workload_(workload), values_(workload.values.size()) {
    for (const int input : workload.inputs) values_[static_cast<size_t>(input)] = of_input(input);
    for (const Stage& stage : workload.stages) add(stage);
  }

  Places of(int value) const { return values_[static_cast<size_t>(workload_.storage(value))]; }

 private:
  Places of_input(int input) const {
    const Workload::Value& value = workload_.values[static_cast<size_t>(input)];
    if (value.constant.empty()) return is_float(value.type.dtype) ? 1 : 0;
    Places places = 0;
    for (const double number : value.constant.to_doubles()) {
      places = larger(places, places_of(number));
    }
    return places;
  }

  void add(const Stage& stage) {
    Places sum;
    known_.clear();
    if (stage.reducer) {
      const bool exact =
          stage.reducer->size() == 1 && (is_sum(*stage.reducer) || !rounds(*stage.reducer));
      if (exact) sum = of(stage.elements[0], std::nullopt);
      known_.clear();
    }
    for (size_t i = 0; i < stage.results.size(); ++i) {
      values_[static_cast<size_t>(stage.outputs[i])] = of(stage.results[i], sum);
    }
  }

  // `sum`: of arg(0), the reduced element.
  Places of(const Expr& expr, Places sum) {
    if (const auto found = known_.find(&*expr); found != known_.end()) return found->second;
    return known_[&*expr] = computed(expr, sum);
  }

  Places computed(const Expr& expr, Places sum) {
    if (is_float(expr.dtype()) && expr.dtype() != DType::f32 && expr.dtype() != DType::f64) {
      return std::nullopt;  // rounded after every operation
    }
    const auto operand = [&](size_t i) { return of(expr->operands[i], sum); };
    switch (expr->op) {
      case ExprOp::constant: return is_float(expr.dtype()) ? places_of(expr->number) : Places{0};
      case ExprOp::axis: return 0;
      case ExprOp::arg: return sum;
      case ExprOp::load: {
        const Places loaded = of(static_cast<int>(expr->id));
        if (!has_out_of_range_value(expr)) return loaded;
        return larger(loaded, of(out_of_range_value(expr), sum));
      }
      case ExprOp::neg:
      case ExprOp::abs: return operand(0);
      case ExprOp::cast: {
        // To integers, it rounds.
        const bool widens = is_float(expr.dtype()) || !is_float(expr->operands[0].dtype());
        return widens ? operand(0) : std::nullopt;
      }
      case ExprOp::add:
      case ExprOp::sub:
      case ExprOp::max:
      case ExprOp::min: return larger(operand(0), operand(1));
      case ExprOp::lt:
      case ExprOp::le:
      case ExprOp::eq: return larger(operand(0), operand(1)) ? Places{0} : std::nullopt;
      case ExprOp::select: return larger(operand(0), larger(operand(1), operand(2)));
      case ExprOp::mul: {
        const Places a = operand(0);
        const Places b = operand(1);
        return a && b && *a + *b <= kMostPlaces ? Places{*a + *b} : std::nullopt;
      }
      default: return std::nullopt;
    }
  }

  const Workload& workload_;
  std::vector<Places> values_;
  std::unordered_map<const Expr::Node*, Places> known_;  // of nodes of the current stage
};

}  // namespace

std::vector<std::optional<int>> binary_places(const Workload& workload) {
  const WorkloadPlaces places(workload);
  std::vector<std::optional<int>> of_outputs;
  for (const int output : workload.outputs) of_outputs.push_back(places.of(output));
  return of_outputs;
}

}  // namespace aoe

#include "measure/worker/numeric_check.h"

#include <algorithm>
#include <cmath>
#include <random>
#include <set>

#include "base/error.h"
#include "expr/evaluate.h"
#include "expr/rewrite.h"
#include "measure/host/guarded_memory.h"
#include "measure/worker/exact_sums.h"
#include "measure/worker/random_tensor.h"
#include "plan/arena.h"

namespace aoe {
namespace {

using Against = GuardedMemory::Against;

// If a workload rounds or compares floats (see is_discontinuous()), one element in kOneOddIn may
// fall on the other side of a step. An integer may then differ by one, a float by kOddBy of its
// scale (a quantization step of four bits).
constexpr int64_t kOneOddIn = 1000;
constexpr double kOddBy = 0.15;

// The value of an expression where the node `at` is `number`, as far as simple rules tell.
std::optional<double> value_where(const Expr& expr, const Expr::Node* at, double number) {
  if (&*expr == at) return number;
  if (expr->op == ExprOp::constant) {
    return is_float(expr.dtype()) ? expr->number : static_cast<double>(expr->id);
  }
  std::vector<std::optional<double>> of;
  for (const Expr& operand : expr->operands) {
    if (expr->op == ExprOp::load) return std::nullopt;
    of.push_back(value_where(operand, at, number));
  }
  // Whatever it is multiplied by.
  if (expr->op == ExprOp::mul && (of[0] == 0 || of[1] == 0)) return 0;
  if (of.empty() || std::any_of(of.begin(), of.end(), [](const auto& one) { return !one; })) {
    return std::nullopt;
  }
  switch (expr->op) {
    case ExprOp::neg: return -*of[0];
    case ExprOp::exp: return std::exp(*of[0]);
    case ExprOp::add: return *of[0] + *of[1];
    case ExprOp::sub: return *of[0] - *of[1];
    case ExprOp::mul: return *of[0] * *of[1];
    case ExprOp::div: return *of[0] / *of[1];
    case ExprOp::max: return std::max(*of[0], *of[1]);
    case ExprOp::min: return std::min(*of[0], *of[1]);
    default: return std::nullopt;
  }
}

// Whether both branches of a select have the same value where its condition changes, as those of a
// leaky ReLU or an ELU have: select(x < c, f(x), g(x)) with f(c) = g(c).
bool is_continuous_select(const Expr& expr) {
  const Expr& condition = expr->operands[0];
  if (condition->op != ExprOp::lt && condition->op != ExprOp::le) return false;
  for (const size_t side : {0, 1}) {
    const Expr& bound = condition->operands[1 - side];
    if (bound->op != ExprOp::constant) continue;
    const Expr::Node* const at = &*condition->operands[side];
    const auto taken = value_where(expr->operands[1], at, bound->number);
    const auto other = value_where(expr->operands[2], at, bound->number);
    if (taken && other && *taken == *other) return true;
  }
  return false;
}

bool is_step(const Expr& expr) {
  const auto of_float = [&] {
    return !expr->operands.empty() && is_float(expr->operands[0].dtype());
  };
  switch (expr->op) {
    case ExprOp::floor:
    case ExprOp::ceil:
    case ExprOp::round: return true;
    case ExprOp::mod:
    case ExprOp::rem: return is_float(expr.dtype());
    case ExprOp::cast: return of_float() && !is_float(expr.dtype());
    case ExprOp::eq:
    case ExprOp::lt:
    case ExprOp::le: return of_float();
    default: return false;
  }
}

bool is_discontinuous(const Expr& expr) {
  std::set<const Expr::Node*> harmless;  // conditions of continuous selects, which come first
  return any_node(expr, [&](const Expr& e) {
    if (e->op == ExprOp::select && is_continuous_select(e)) harmless.insert(&*e->operands[0]);
    return is_step(e) && !harmless.contains(&*e);
  });
}

// The difference that denormal numbers make. Kernels flush those of f32 to zero, and their exp
// without AVX-512 returns 0 below 1.67e-38 (docs/numerics.md). The smaller types keep theirs, which
// are multiples of the smallest: rounding to either neighbour is correct.
double denormal_difference(DType dtype) {
  switch (dtype) {
    case DType::f64: return 0x1p-1022;
    case DType::f16: return 0x1p-24;
    case DType::f8e4m3fn: return 0x1p-9;
    case DType::f8e4m3fnuz: return 0x1p-10;
    case DType::f8e5m2: return 0x1p-16;
    case DType::f8e5m2fnuz: return 0x1p-17;
    case DType::f4e2m1: return 0.5;
    default: return is_float(dtype) ? 0x1p-125 : 0;  // the exponents of f32
  }
}

// What the errors of elements are relative to.
class Scales {
 public:
  Scales(const std::vector<double>& expected, const MagnitudesOf& magnitudes)
      : expected_(expected) {
    for (const double value : expected) {
      if (std::isfinite(value)) largest_ = std::max(largest_, std::abs(value));
    }
    const Tensor known = magnitudes ? magnitudes() : Tensor{};
    if (!known.empty()) magnitudes_ = known.to_doubles();
  }

  // Whether the magnitude of an element is known and so small that its sums are exact.
  bool is_below(size_t element, double bound) const {
    return !magnitudes_.empty() && magnitudes_[element] < bound;
  }

  double of(size_t element) const {
    // Magnitudes may overflow where a sum of terms of both signs does not.
    if (magnitudes_.empty() || !std::isfinite(magnitudes_[element])) return largest_;
    // Magnitudes are rounded, too. An infinite element must be equal.
    const double value = std::abs(expected_[element]);
    return std::isfinite(value) ? std::max(magnitudes_[element], value) : magnitudes_[element];
  }

 private:
  const std::vector<double>& expected_;
  std::vector<double> magnitudes_;
  double largest_ = 0;
};

}  // namespace

double tolerance_of(DType dtype) {
  switch (dtype) {
    case DType::f32: return 1e-4;
    case DType::f64: return 1e-9;
    case DType::f16: return 4e-3;
    case DType::bf16: return 4e-2;
    default: return is_float(dtype) ? 0.5 : 0;
  }
}

std::vector<double> tolerances_of(const Workload& workload) {
  std::vector<double> of_value(workload.values.size());  // of what a stage computes
  for (const Stage& stage : workload.stages) {
    double tolerance = 0;
    const auto look = [&](const Expr& e) {
      if (e->op == ExprOp::load) {
        tolerance = std::max(
            tolerance, of_value[static_cast<size_t>(workload.storage(static_cast<int>(e->id)))]);
      } else if (e->op != ExprOp::constant) {
        tolerance = std::max(tolerance, tolerance_of(e.dtype()));
      }
    };
    for (const Expr& element : stage.elements) for_each_node(element, look);
    for (const Expr& result : stage.results) for_each_node(result, look);
    for (const int output : stage.outputs) of_value[static_cast<size_t>(output)] = tolerance;
  }
  std::vector<double> tolerances;
  for (const int output : workload.outputs) {
    const double own = tolerance_of(workload.values[static_cast<size_t>(output)].type.dtype);
    const double computed = of_value[static_cast<size_t>(workload.storage(output))];
    tolerances.push_back(own == 0 ? 0 : std::max(own, computed));
  }
  return tolerances;
}

std::optional<Failure> mismatch_of(const Tensor& result, const Tensor& expected, double tolerance,
                                   int64_t odd, const MagnitudesOf& magnitudes,
                                   double exact_below) {
  const std::vector<double> a = result.to_doubles();
  const std::vector<double> b = expected.to_doubles();
  const bool floats = is_float(result.dtype());
  const double denormal = tolerance > 0 ? denormal_difference(result.dtype()) : 0;
  std::optional<Scales> scales;
  for (size_t i = 0; i < a.size(); ++i) {
    if (a[i] == b[i] || (std::isnan(a[i]) && std::isnan(b[i]))) continue;
    const double off = std::abs(a[i] - b[i]);
    // No scale is smaller than the element itself.
    const bool is_small = off <= std::max(tolerance * std::abs(b[i]), denormal);
    if (is_small && std::isfinite(off) && exact_below == 0) continue;
    if (!scales) scales.emplace(b, magnitudes);
    if (scales->is_below(i, exact_below)) {
      return Failure{Cause::wrong_result,
                     fmt::format("element {} is {}, not {} (a sum that is exact in any order)", i,
                                 a[i], b[i])};
    }
    const double scale = scales->of(i);
    const double allowed = std::max(tolerance * scale, denormal);
    if (off <= allowed) continue;
    if (off <= (floats ? kOddBy * scale : 1) && odd-- > 0) continue;
    const bool nan = std::isnan(a[i]);
    return Failure{
        nan ? Cause::not_a_number : Cause::wrong_result,
        fmt::format("element {} is {}, not {} (up to {:.3g} may differ)", i, a[i], b[i], allowed)};
  }
  return std::nullopt;
}

bool is_discontinuous(const Workload& workload) {
  const auto any = [](const std::vector<Expr>& of) {
    return std::any_of(of.begin(), of.end(),
                       [](const Expr& expr) { return is_discontinuous(expr); });
  };
  return std::any_of(workload.stages.begin(), workload.stages.end(),
                     [&](const Stage& stage) { return any(stage.elements) || any(stage.results); });
}

std::vector<int64_t> allowed_outliers(const Workload& workload) {
  const bool any_float =
      std::any_of(workload.values.begin(), workload.values.end(),
                  [](const Workload::Value& v) { return is_float(v.type.dtype); });
  const bool any = any_float && is_discontinuous(workload);
  std::vector<int64_t> odd;
  for (const int id : workload.outputs) {
    odd.push_back(any ? workload.values[static_cast<size_t>(id)].type.count() / kOneOddIn : 0);
  }
  return odd;
}

std::optional<Failure> mismatch_of(const Workload& workload, const std::vector<Tensor>& inputs,
                                   const std::vector<Tensor>& results,
                                   const std::vector<Tensor>& expected, int threads) {
  const std::vector<double> tolerances = tolerances_of(workload);
  const std::vector<int64_t> odd = allowed_outliers(workload);
  std::vector<Tensor> magnitudes;
  for (size_t i = 0; i < results.size(); ++i) {
    const auto magnitudes_of = [&] {
      if (magnitudes.empty()) magnitudes = Magnitudes(workload).run(inputs, threads);
      return magnitudes[i];
    };
    auto wrong = mismatch_of(results[i], expected[i], tolerances[i], odd[i], magnitudes_of);
    if (!wrong) continue;
    wrong->detail = fmt::format("output {}: {}", i, wrong->detail);
    return wrong;
  }
  return std::nullopt;
}

Checker::Checker(std::shared_ptr<const Workload> workload, const std::vector<Tensor>& weights,
                 int threads)
    : workload_(std::move(workload)),
      threads_(threads),
      tolerances_(tolerances_of(*workload_)),
      odd_(allowed_outliers(*workload_)),
      magnitudes_(*workload_) {
  const std::vector<std::optional<int>> places = binary_places(*workload_);
  for (size_t i = 0; i < places.size(); ++i) {
    const int digits = tolerances_[i] <= tolerance_of(DType::f64) ? 53 : 24;
    exact_below_.push_back(places[i] ? std::ldexp(1, digits - *places[i]) : 0);
  }
  const Evaluator reference(workload_);
  const auto value = [&](size_t input) -> const Workload::Value& {
    return workload_->values[static_cast<size_t>(workload_->inputs[input])];
  };
  for (size_t c = 0; c < kInputs; ++c) {
    const Against against = c == 0 ? Against::front : Against::back;
    std::mt19937 random(static_cast<uint32_t>(c));
    std::vector<Tensor> all;
    for (size_t i = 0; i < workload_->inputs.size(); ++i) {
      const TensorType& type = value(i).type;
      require(type.dtype != DType::string, "kernels have no strings");
      // Integer weights may be indices: those of the model are in range, others may not be.
      const bool given = i < weights.size() && !weights[i].empty();
      const bool as_given = given && (c == 0 || !is_float(type.dtype));
      all.push_back(as_given ? weights[i]
                    : c == 0 ? random_tensor(type, random)
                             : edge_case_tensor(type, random));
    }
    Case& made = cases_[c];
    try {
      made.expected = reference.run(all, threads_);
    } catch (const Error&) {
      // An index was out of range. Index 0 is always valid.
      for (size_t i = 0; i < all.size(); ++i) {
        const bool given = i < weights.size() && !weights[i].empty();
        if (!given && !is_float(value(i).type.dtype)) all[i] = Tensor::zeros(value(i).type);
      }
      made.expected = reference.run(all, threads_);
    }
    for (size_t i = 0; i < all.size(); ++i) {
      const Tensor guarded = guarded_copy(all[i], against, fmt::format("input {}", i));
      made.inputs.push_back(value(i).weight ? Tensor{} : guarded);
      made.weights.push_back(value(i).weight ? guarded : Tensor{});
    }
  }
}

std::vector<const void*> Checker::pointers(const Case& of) {
  std::vector<const void*> pointers;
  for (const Tensor& input : of.inputs) pointers.push_back(input.raw());
  return pointers;
}

const Tensor& Checker::magnitudes_of(const Case& of, size_t output) const {
  if (!of.magnitudes) {
    std::vector<Tensor> all = of.inputs;
    for (size_t i = 0; i < all.size(); ++i) {
      if (all[i].empty()) all[i] = of.weights[i];
    }
    of.magnitudes = magnitudes_.run(all, threads_);
  }
  return (*of.magnitudes)[output];
}

std::optional<Failure> Checker::failure_of(const Kernel& kernel, size_t input,
                                           const RunKernel& run) const {
  const Case& of = cases_[input];
  const Against against = input == 0 ? Against::front : Against::back;
  std::vector<std::unique_ptr<GuardedMemory>> memory;
  std::vector<void*> outputs;
  for (size_t i = 0; i < of.expected.size(); ++i) {
    const auto width = static_cast<size_t>(info(of.expected[i].dtype()).bytes);
    memory.push_back(std::make_unique<GuardedMemory>(static_cast<size_t>(of.expected[i].bytes()),
                                                     std::max<size_t>(1, width), against,
                                                     fmt::format("output {}", i)));
    outputs.push_back(memory.back()->elements());
  }
  memory.push_back(std::make_unique<GuardedMemory>(static_cast<size_t>(kernel.work_bytes()),
                                                   static_cast<size_t>(kArenaAlignment), against,
                                                   "the work memory"));
  const int64_t fallbacks = kernel.fallbacks();
  run(kernel, pointers(of), outputs, memory.back()->elements());
  for (const auto& block : memory) {
    if (const auto stray = block->stray_write()) {
      return Failure{Cause::out_of_bounds, fmt::format("{} were written to", *stray)};
    }
  }
  if (kernel.fallbacks() != fallbacks) {
    return Failure{Cause::wrong_result, "a valid index was reported out of range"};
  }
  // Other algorithms compute other sums, with numbers that are not multiples of 1/2.
  const bool is_direct = numerics_of(kernel.policy().structure) == Numerics::direct;
  for (size_t i = 0; i < of.expected.size(); ++i) {
    const TensorType& type = of.expected[i].type();
    const Tensor made = Tensor::onto(type, outputs[i], nullptr);
    auto wrong = mismatch_of(
        made, of.expected[i], tolerances_[i], odd_[i], [&] { return magnitudes_of(of, i); },
        input == 0 || !is_direct ? 0 : exact_below_[i]);
    if (!wrong) continue;
    wrong->detail = fmt::format("output {}, {} input: {}", i, input == 0 ? "ordinary" : "awkward",
                                wrong->detail);
    return wrong;
  }
  return std::nullopt;
}

}  // namespace aoe

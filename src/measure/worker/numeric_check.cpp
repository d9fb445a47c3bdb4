#include "measure/worker/numeric_check.h"

#include <algorithm>
#include <cmath>
#include <random>

#include "base/error.h"
#include "expr/evaluate.h"
#include "measure/host/guarded_memory.h"
#include "measure/worker/random_tensor.h"
#include "plan/arena.h"

namespace aoe {
namespace {

using Against = GuardedMemory::Against;

// If a workload rounds or compares floats (see jumps()), one element in kOneOddIn may fall on the
// other side of a step. An integer may then differ by one, a float by kOddBy of the largest
// magnitude (a quantization step of four bits).
constexpr int64_t kOneOddIn = 1000;
constexpr double kOddBy = 0.15;

bool is_discontinuous(const Expr& expr) {
  const auto of_float = [&] {
    return !expr->operands.empty() && is_float(expr->operands[0].dtype());
  };
  switch (expr->op) {
    case ExprOp::floor:
    case ExprOp::ceil:
    case ExprOp::round: return true;
    case ExprOp::mod:
    case ExprOp::rem: return is_float(expr.dtype());
    case ExprOp::cast:
      if (of_float() && !is_float(expr.dtype())) return true;
      break;
    case ExprOp::eq:
    case ExprOp::lt:
    case ExprOp::le:
      if (of_float()) return true;
      break;
    default: break;
  }
  return std::any_of(expr->operands.begin(), expr->operands.end(),
                     [](const Expr& operand) { return is_discontinuous(operand); });
}

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

std::optional<Failure> mismatch_of(const Tensor& result, const Tensor& expected, double tolerance,
                                   int64_t odd) {
  const std::vector<double> a = result.to_doubles();
  const std::vector<double> b = expected.to_doubles();
  double largest = 0;
  for (const double value : b) {
    if (std::isfinite(value)) largest = std::max(largest, std::abs(value));
  }
  // Inputs have magnitudes around 1. Where results cancel to nearly 0, rounding errors are relative
  // to those magnitudes and not to the results.
  const double scale = std::max(largest, 1.0);
  const double allowed = tolerance * scale;
  const double odd_allowed = is_float(result.dtype()) ? kOddBy * scale : 1;
  for (size_t i = 0; i < a.size(); ++i) {
    if (a[i] == b[i] || (std::isnan(a[i]) && std::isnan(b[i]))) continue;
    const double off = std::abs(a[i] - b[i]);
    if (off <= allowed) continue;
    if (off <= odd_allowed && odd-- > 0) continue;
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

std::optional<Failure> mismatch_of(const Workload& workload, const std::vector<Tensor>& results,
                                   const std::vector<Tensor>& expected) {
  const std::vector<int64_t> odd = allowed_outliers(workload);
  for (size_t i = 0; i < results.size(); ++i) {
    auto wrong = mismatch_of(results[i], expected[i], tolerance_of(results[i].dtype()), odd[i]);
    if (!wrong) continue;
    wrong->detail = fmt::format("output {}: {}", i, wrong->detail);
    return wrong;
  }
  return std::nullopt;
}

Checker::Checker(std::shared_ptr<const Workload> workload, const std::vector<Tensor>& weights,
                 int threads)
    : workload_(std::move(workload)), threads_(threads), odd_(allowed_outliers(*workload_)) {
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
  for (size_t i = 0; i < of.expected.size(); ++i) {
    const TensorType& type = of.expected[i].type();
    const Tensor made = Tensor::onto(type, outputs[i], nullptr);
    auto wrong = mismatch_of(made, of.expected[i], tolerance_of(type.dtype), odd_[i]);
    if (!wrong) continue;
    wrong->detail = fmt::format("output {}, {} input: {}", i, input == 0 ? "ordinary" : "awkward",
                                wrong->detail);
    return wrong;
  }
  return std::nullopt;
}

}  // namespace aoe

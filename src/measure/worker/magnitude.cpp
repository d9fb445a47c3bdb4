#include "measure/worker/magnitude.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "base/error.h"
#include "expr/rewrite.h"

// Derives the workload of magnitudes. In reading order:
//
//   Magnitude         of an expression: another expression, and what is known about it
//   ValueMagnitude    the same of a value of the workload
//   Derivation        the workload under construction: the original values keep their numbers,
//                     values that hold magnitudes ("twins") are appended
//   StageMagnitudes   the expressions of one stage: is_exact, magnitude_of
//   add_stage         a stage becomes up to two: exact results as they are, and magnitudes
//   drop_unused       removes stages that no magnitude of an output needs
//
// An expression is *exact* if kernels compute it bit for bit as the reference does
// (docs/numerics.md): it contains no float sum, no division and no function. Conditions, indexes
// and operands of functions must be exact, because their values and not their magnitudes count.
//
// Invariants of a magnitude m of an expression e: |e| <= m, and the difference between a kernel and
// the reference is a few units in the last place of m, times the length of its sums. If no such
// m can be given, for example of the exponential of a sum, the magnitude is unknown.

namespace aoe {
namespace {

struct Magnitude {
  Expr expr;              // null: unknown
  bool tight = false;     // equals |e|, so the relative error of e is small: e may be a divisor
  bool positive = false;  // e is never negative

  explicit operator bool() const { return static_cast<bool>(expr); }
};

struct ValueMagnitude {
  bool exact = false;
  int twin = -1;  // the value that holds the magnitudes; -1: unknown
  bool tight = false;
  bool positive = false;
};

Tensor absolute(const Tensor& tensor) {
  Tensor result(tensor.type());
  dispatch(tensor.dtype(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    for (int64_t i = 0; i < tensor.count(); ++i) {
      result.data<T>()[i] =
          static_cast<T>(std::abs(static_cast<double>(tensor.template data<T>()[i])));
    }
  });
  return result;
}

// Functions whose relative error is at most that of their operand, and whose absolute value is
// their value at the absolute operand.
bool is_well_conditioned(ExprOp op) {
  switch (op) {
    case ExprOp::sqrt:
    case ExprOp::tanh:
    case ExprOp::erf:
    case ExprOp::atan:
    case ExprOp::asinh: return true;
    default: return false;
  }
}

// Operations of floats that kernels may compute otherwise than the reference.
bool may_differ(ExprOp op) {
  const bool function = cost_of(op) == OpCost::function;
  return function || op == ExprOp::div;
}

bool is_cast_of_integer(const Expr& expr) {
  return expr->op == ExprOp::cast && !is_float(expr->operands[0].dtype());
}

class Derivation {
 public:
  explicit Derivation(const Workload& original)
      : original_(original), derived_(original), values_(original.values.size()) {
    derived_.stages.clear();
    derived_.outputs.clear();
    for (const int input : original.inputs) values_[static_cast<size_t>(input)].exact = true;
    for (size_t i = 0; i < values_.size(); ++i) {
      if (!original.values[i].constant.empty()) values_[i].exact = true;
    }
  }

  MagnitudeWorkload derive();

  bool is_exact(int64_t value) const { return storage(value).exact; }
  // The value and its twin; inputs and constants get their twins here.
  ValueMagnitude of(int64_t value);

 private:
  const ValueMagnitude& storage(int64_t value) const {
    return values_[static_cast<size_t>(original_.storage(static_cast<int>(value)))];
  }
  void add_stage(const Stage& stage);
  void drop_unused();
  int add_value(const TensorType& type) {
    derived_.values.push_back({.type = type, .constant = {}});
    return static_cast<int>(derived_.values.size()) - 1;
  }

  const Workload& original_;
  Workload derived_;
  std::vector<ValueMagnitude> values_;  // of the original; those of views are at their storage
  std::map<int64_t, int> view_twins_;
  std::vector<size_t> absolute_;
};

// The expressions of one stage and their magnitudes.
class StageMagnitudes {
 public:
  StageMagnitudes(Derivation& values, const Stage& stage) : values_(values) {
    if (stage.reducer) reduce(*stage.reducer, stage.elements);
  }

  // What the args of the results are in the stage of magnitudes.
  enum class Args : uint8_t { unknown, exact, magnitudes };
  Args args() const { return args_; }
  // If args are magnitudes: how to reduce which elements.
  const Reducer& reducer() const { return reducer_; }
  const Expr& element() const { return reduced_.expr; }

  bool is_exact(const Expr& expr);
  Magnitude magnitude_of(const Expr& expr);

 private:
  void reduce(const Reducer& reducer, const std::vector<Expr>& elements);
  bool exact_node(const Expr& expr);
  Magnitude magnitude_of_node(const Expr& expr);
  Magnitude of_load(const Expr& load);
  Magnitude of_cast(const Expr& expr);
  Magnitude of_extreme(const Expr& expr);
  Magnitude of_select(const Expr& expr);
  Magnitude of_function(const Expr& expr);
  // |expr|, if its relative error is small.
  Magnitude tight(const Expr& expr);
  // |expr|, which is known because the expression or the operands of its function are exact.
  static Magnitude itself(const Expr& expr, bool positive = false) {
    return {positive ? expr : abs(expr), true, positive};
  }

  Derivation& values_;
  Args args_ = Args::unknown;
  Reducer reducer_;
  Magnitude reduced_;
  std::map<const Expr::Node*, bool> exact_;
  std::map<const Expr::Node*, Magnitude> magnitudes_;
};

void StageMagnitudes::reduce(const Reducer& reducer, const std::vector<Expr>& elements) {
  const bool of_integers =
      std::none_of(reducer.identity.begin(), reducer.identity.end(),
                   [](const Expr& identity) { return is_float(identity.dtype()); });
  const bool builtin = is_builtin(reducer);
  const std::string& name = reducer.name;
  const bool adds = builtin && (name == "sum" || name == "product");
  const bool chooses = builtin && !adds && name != "moments";
  if ((of_integers || chooses) &&
      std::all_of(elements.begin(), elements.end(), [&](const Expr& e) { return is_exact(e); })) {
    args_ = Args::exact;
    return;
  }
  const bool extreme = builtin && (name == "max" || name == "min");
  if (of_integers || !(adds || extreme)) return;
  reduced_ = magnitude_of(elements[0]);
  if (!reduced_) return;
  args_ = Args::magnitudes;
  reducer_ = extreme ? max_of(elements[0].dtype()) : reducer;
  // A sum of terms of one sign does not cancel.
  if (name != "product") reduced_.tight = reduced_.tight && reduced_.positive && name != "min";
}

bool StageMagnitudes::is_exact(const Expr& expr) {
  const auto known = exact_.find(&*expr);
  if (known != exact_.end()) return known->second;
  const bool exact = exact_node(expr);
  return exact_[&*expr] = exact;
}

bool StageMagnitudes::exact_node(const Expr& expr) {
  if (expr->op == ExprOp::arg) return args_ == Args::exact;
  if (expr->op == ExprOp::load && !values_.is_exact(expr->id)) return false;
  if (is_float(expr.dtype()) && may_differ(expr->op)) return false;
  return std::all_of(expr->operands.begin(), expr->operands.end(),
                     [&](const Expr& operand) { return is_exact(operand); });
}

Magnitude StageMagnitudes::magnitude_of(const Expr& expr) {
  if (!is_float(expr.dtype())) return {};
  const auto known = magnitudes_.find(&*expr);
  if (known != magnitudes_.end()) return known->second;
  const Magnitude made = magnitude_of_node(expr);
  return magnitudes_[&*expr] = made;
}

Magnitude StageMagnitudes::tight(const Expr& expr) {
  Magnitude of = magnitude_of(expr);
  if (of && of.tight) return of;
  return is_exact(expr) ? itself(expr, of.positive) : Magnitude{};
}

Magnitude StageMagnitudes::magnitude_of_node(const Expr& expr) {
  const auto operand = [&](size_t i) { return magnitude_of(expr->operands[i]); };
  switch (expr->op) {
    case ExprOp::constant:
      // An infinity has no rounding error, and a result that is infinite must be equal.
      if (std::isinf(expr->number)) return {Expr::constant(expr.dtype(), 0), false, false};
      if (std::isnan(expr->number)) return {};
      return {Expr::constant(expr.dtype(), std::abs(expr->number)), true, expr->number >= 0};
    case ExprOp::arg:
      if (args_ == Args::exact) return itself(expr);
      if (args_ == Args::unknown) return {};
      return {expr, reduced_.tight, reduced_.positive};
    case ExprOp::load: return of_load(expr);
    case ExprOp::cast: return of_cast(expr);
    case ExprOp::neg: {
      const Magnitude a = operand(0);
      return {a.expr, a.tight, false};
    }
    case ExprOp::abs: {
      const Magnitude a = operand(0);
      return {a.expr, a.tight, true};
    }
    case ExprOp::add:
    case ExprOp::sub: {
      const bool sum = expr->op == ExprOp::add;
      // A difference of integers is one term: a quantized element less its zero point.
      if (is_exact(expr) && is_cast_of_integer(expr->operands[0]) &&
          is_cast_of_integer(expr->operands[1])) {
        return itself(expr);
      }
      const Magnitude a = operand(0);
      const Magnitude b = operand(1);
      if (!a || !b) return {};
      const bool positive = sum && a.positive && b.positive;
      return {a.expr + b.expr, positive && a.tight && b.tight, positive};
    }
    case ExprOp::mul: {
      const Magnitude a = operand(0);
      const Magnitude b = operand(1);
      if (!a || !b) return {};
      const bool square = &*expr->operands[0] == &*expr->operands[1];
      return {a.expr * b.expr, a.tight && b.tight, square || (a.positive && b.positive)};
    }
    case ExprOp::div: {
      const Magnitude a = operand(0);
      const Magnitude b = tight(expr->operands[1]);
      if (!a || !b) return {};
      return {a.expr / b.expr, a.tight, a.positive && b.positive};
    }
    case ExprOp::min:
    case ExprOp::max: return of_extreme(expr);
    case ExprOp::select: return of_select(expr);
    default: return of_function(expr);
  }
}

Magnitude StageMagnitudes::of_load(const Expr& load) {
  for (const Expr& position : index_of(load)) {
    if (!is_exact(position)) return {};
  }
  const ValueMagnitude value = values_.of(load->id);
  if (value.twin < 0) return {};
  Magnitude of{{}, value.tight, value.positive};
  Expr::Node twin = *load;
  twin.id = value.twin;
  if (has_out_of_range_value(load)) {
    const Magnitude outside = magnitude_of(out_of_range_value(load));
    if (!outside) return {};
    twin.operands.back() = outside.expr;
    of.tight = of.tight && outside.tight;
    of.positive = of.positive && outside.positive;
  }
  of.expr = Expr(std::move(twin));
  return of;
}

Magnitude StageMagnitudes::of_cast(const Expr& expr) {
  const Expr& from = expr->operands[0];
  if (!is_float(from.dtype())) return is_exact(expr) ? itself(expr) : Magnitude{};
  Magnitude of = magnitude_of(from);
  if (of) of.expr = cast(expr.dtype(), of.expr);
  return of;
}

Magnitude StageMagnitudes::of_extreme(const Expr& expr) {
  const Magnitude a = magnitude_of(expr->operands[0]);
  const Magnitude b = magnitude_of(expr->operands[1]);
  if (!a || !b) return {};
  const bool both = a.positive && b.positive;
  const bool least = expr->op == ExprOp::min;
  const bool positive = both || (!least && (a.positive || b.positive));
  if (is_exact(expr)) return itself(expr, positive);
  // max(x, 0), and min(x, 6) of x that is not negative, are at most |x|: the bound is no term.
  const auto is_bound = [&](size_t i) {
    const Expr& bound = expr->operands[i];
    return (least && both && is_exact(bound)) || (bound.is_constant() && bound->number == 0);
  };
  if (is_bound(1)) return {a.expr, false, positive};
  if (is_bound(0)) return {b.expr, false, positive};
  return {max(a.expr, b.expr), false, positive};
}

Magnitude StageMagnitudes::of_select(const Expr& expr) {
  const Expr& condition = expr->operands[0];
  const Magnitude a = magnitude_of(expr->operands[1]);
  const Magnitude b = magnitude_of(expr->operands[2]);
  if (!a || !b) return {};
  const bool positive = a.positive && b.positive;
  if (is_exact(condition)) {
    return {select(condition, a.expr, b.expr), a.tight && b.tight, positive};
  }
  return {max(a.expr, b.expr), false, positive};
}

Magnitude StageMagnitudes::of_function(const Expr& expr) {
  const bool positive = expr->op == ExprOp::exp || expr->op == ExprOp::sqrt ||
                        expr->op == ExprOp::cosh || expr->op == ExprOp::acosh;
  if (std::all_of(expr->operands.begin(), expr->operands.end(),
                  [&](const Expr& operand) { return is_exact(operand); })) {
    return itself(expr, positive);
  }
  if (is_well_conditioned(expr->op)) {
    const Magnitude a = tight(expr->operands[0]);
    if (!a) return {};
    return {unary(expr->op, a.expr), true, positive || a.positive};
  }
  if (expr->op == ExprOp::pow) {
    // The relative error grows by the exponent, which is small in practice: squares and roots.
    constexpr double kLargestExponent = 4;
    const Expr& exponent = expr->operands[1];
    const Magnitude a = tight(expr->operands[0]);
    if (!a || !exponent.is_constant() || std::abs(exponent->number) > kLargestExponent) return {};
    return {pow(a.expr, exponent), true, a.positive || exponent->number == 2};
  }
  return {};
}

ValueMagnitude Derivation::of(int64_t value) {
  const int from = original_.storage(static_cast<int>(value));
  ValueMagnitude& of = values_[static_cast<size_t>(from)];
  const Workload::Value& stored = original_.values[static_cast<size_t>(from)];
  if (of.twin < 0 && is_float(stored.type.dtype)) {
    const auto input = std::find(original_.inputs.begin(), original_.inputs.end(), from);
    if (input != original_.inputs.end()) {
      of.twin = add_value(stored.type);
      derived_.inputs.push_back(of.twin);
      absolute_.push_back(static_cast<size_t>(input - original_.inputs.begin()));
    } else if (!stored.constant.empty()) {
      of.twin = add_value(stored.type);
      derived_.values.back().constant = absolute(stored.constant);
    }
    if (of.twin >= 0) of.tight = true;
  }
  ValueMagnitude result = of;
  if (from != value && of.twin >= 0) {
    const auto [view, is_new] = view_twins_.try_emplace(value, -1);
    if (is_new) {
      view->second = add_value(original_.type_of(value));
      derived_.values.back().view_of = of.twin;
    }
    result.twin = view->second;
  }
  return result;
}

void Derivation::add_stage(const Stage& stage) {
  StageMagnitudes magnitudes(*this, stage);
  // Results that cannot use the reduced tuple need no reduction.
  Stage exact{.axes = stage.axes, .reducer = {}};
  Stage twins = exact;
  switch (magnitudes.args()) {
    case StageMagnitudes::Args::unknown: break;
    case StageMagnitudes::Args::exact:
      exact.reduce_axes = stage.reduce_axes;
      exact.reducer = stage.reducer;
      exact.elements = stage.elements;
      twins = exact;
      break;
    case StageMagnitudes::Args::magnitudes:
      twins.reduce_axes = stage.reduce_axes;
      twins.reducer = magnitudes.reducer();
      twins.elements = {magnitudes.element()};
      break;
  }
  for (size_t i = 0; i < stage.results.size(); ++i) {
    const Expr& result = stage.results[i];
    ValueMagnitude& value = values_[static_cast<size_t>(stage.outputs[i])];
    value.exact = magnitudes.is_exact(result);
    if (value.exact) {
      exact.results.push_back(result);
      exact.outputs.push_back(stage.outputs[i]);
    }
    if (const Magnitude of = magnitudes.magnitude_of(result)) {
      value.twin = add_value(original_.type_of(stage.outputs[i]));
      value.tight = of.tight;
      value.positive = of.positive;
      twins.results.push_back(of.expr);
      twins.outputs.push_back(value.twin);
    }
  }
  if (!exact.results.empty()) derived_.stages.push_back(std::move(exact));
  if (!twins.results.empty()) derived_.stages.push_back(std::move(twins));
}

void Derivation::drop_unused() {
  std::set<int> used;
  for (const int output : derived_.outputs) used.insert(derived_.storage(output));
  std::vector<Stage> kept;
  for (size_t i = derived_.stages.size(); i-- > 0;) {
    Stage& stage = derived_.stages[i];
    if (std::none_of(stage.outputs.begin(), stage.outputs.end(),
                     [&](int output) { return used.contains(output); })) {
      continue;
    }
    used.merge(loaded_by(derived_, stage));
    kept.push_back(std::move(stage));
  }
  derived_.stages.assign(std::make_move_iterator(kept.rbegin()),
                         std::make_move_iterator(kept.rend()));
}

MagnitudeWorkload Derivation::derive() {
  for (const Stage& stage : original_.stages) add_stage(stage);
  MagnitudeWorkload made;
  for (const int output : original_.outputs) {
    const int twin = of(output).twin;
    made.outputs.push_back(twin < 0 ? -1 : static_cast<int>(derived_.outputs.size()));
    if (twin >= 0) derived_.outputs.push_back(twin);
  }
  drop_unused();
  made.absolute = std::move(absolute_);
  made.workload = std::make_shared<const Workload>(std::move(derived_));
  return made;
}

}  // namespace

MagnitudeWorkload magnitude_workload(const Workload& original) {
  return Derivation(original).derive();
}

Magnitudes::Magnitudes(const Workload& workload)
    : derived_(magnitude_workload(workload)), evaluator_(derived_.workload) {}

std::vector<Tensor> Magnitudes::run(const std::vector<Tensor>& inputs, int threads) const {
  std::vector<Tensor> known;
  if (!derived_.workload->outputs.empty()) {
    std::vector<Tensor> all = inputs;
    for (const size_t input : derived_.absolute) all.push_back(absolute(inputs[input]));
    try {
      known = evaluator_.run(all, threads);
    } catch (const Error&) {
      // A load was in bounds only where its select, whose condition is not exact, had taken it.
      return std::vector<Tensor>(derived_.outputs.size());
    }
  }
  std::vector<Tensor> magnitudes;
  for (const int output : derived_.outputs) {
    magnitudes.push_back(output < 0 ? Tensor{} : known[static_cast<size_t>(output)]);
  }
  return magnitudes;
}

}  // namespace aoe

#include "expr/tape.h"

#include <algorithm>
#include <cassert>

#include "expr/rewrite.h"

// Compiles a stage to a tape. In reading order:
//
//   Compiler::compile          the reduction, then the results
//   compile_reduction          accumulators, elements and their combination
//   compile_multiply_add       a sum of products of f32 loads as one fused instruction
//   value_of, emit             one instruction per node and Mode, memoized
//   emit_select                guards loads in a branch by the condition that takes it
//   emit_load, strided         an affine index in bounds of the tensor, or of a padded copy of it,
//                              becomes a strided load; any other a checked load
//
// Parts of elements that do not vary in the reduction are computed once per strip (list_of). Lists
// run in the order that tape.h gives.

namespace aoe {
namespace {

// Size limit of a padded copy: this many times its tensor, or kPaddedSmall elements. Beyond it,
// each load is checked instead.
constexpr int64_t kPaddedGrowth = 4;
constexpr int64_t kPaddedSmall = 1 << 16;

// Whether the reducer is a sum, judged by its combination: the name of a custom one is arbitrary.
bool adds(const Reducer& reducer) {
  const auto is_arg = [](const Expr& expr, int64_t which) {
    return expr->op == ExprOp::arg && expr->id == which;
  };
  const Expr& combine = reducer.combine[0];
  return reducer.size() == 1 && combine->op == ExprOp::add && is_arg(combine->operands[0], 0) &&
         is_arg(combine->operands[1], 1);
}

class Compiler {
 public:
  Compiler(const Workload& workload, const Stage& stage)
      : workload_(workload), stage_(stage), extents_(stage.extents()) {
    tape_.out_rank = static_cast<int64_t>(stage.axes.size());
    tape_.axis_is_value.resize(stage.axes.size());
  }

  Tape compile() {
    if (stage_.reducer) compile_reduction(*stage_.reducer);
    part_ = Part::results;
    for (const Expr& result : stage_.results) tape_.results.push_back(value_of(result, narrow()));
    return std::move(tape_);
  }

 private:
  // How an expression is compiled: whether floats are widened to f64, and the condition under which
  // its loads must be in bounds (a register, or -1 for always).
  struct Mode {
    bool wide = false;
    int guard = -1;
    bool guard_varies = false;  // the guard varies in the reduction
    auto operator<=>(const Mode&) const = default;
  };
  static Mode narrow() { return {}; }

  enum class Part { elements, combination, results };

  void compile_reduction(const Reducer& reducer);
  bool compile_multiply_add(const Reducer& reducer, int accumulator);

  int value_of(const Expr& expr, Mode mode);
  int emit(const Expr& expr, Mode mode);
  int emit_load(const Expr& expr, Mode mode);
  int emit_select(const Expr& expr, Mode mode);
  int emit_cast(const Expr& expr, Mode mode);
  std::optional<int> strided(const Expr& load, bool may_pad);
  std::optional<int> padded_copy(const Expr& load, const std::vector<Interval>& ranges);

  // The list that an instruction for `expr` belongs to.
  std::vector<Instr>& list_of(const Expr& expr, Mode mode);
  bool varies_in_reduction(const Expr& expr);
  bool has_unchecked_load(const Expr& expr);

  int fresh() { return tape_.register_count++; }
  RegClass class_of(DType dtype, Mode mode) const {
    const RegClass plain = reg_class(dtype);
    return mode.wide && plain == RegClass::f32 ? RegClass::f64 : plain;
  }
  int add(std::vector<Instr>& list, Instr instr) {
    assert(instr.run != nullptr);
    if (instr.dst < 0) instr.dst = fresh();
    list.push_back(std::move(instr));
    return list.back().dst;
  }
  // Rounds or wraps the result of an operation to a narrow type.
  int narrowed(std::vector<Instr>& list, int reg, DType dtype, Mode mode) {
    const Instr::Run run = mode.wide ? nullptr : narrow_instruction(dtype);
    return run ? add(list, {.run = run, .a = reg}) : reg;
  }

  const Workload& workload_;
  const Stage& stage_;
  Shape extents_;
  Tape tape_;
  Part part_ = Part::elements;
  std::map<std::pair<const Expr::Node*, Mode>, int> registers_;
  std::map<const Expr::Node*, bool> varies_;
  std::map<const Expr::Node*, bool> unchecked_;
  std::map<int64_t, int> arguments_;  // registers of arg(i) in the current part
};

bool Compiler::varies_in_reduction(const Expr& expr) {
  if (expr->op == ExprOp::axis) return expr->id >= tape_.out_rank;
  const auto known = varies_.find(&*expr);
  if (known != varies_.end()) return known->second;
  const bool varies = std::any_of(expr->operands.begin(), expr->operands.end(),
                                  [&](const Expr& e) { return varies_in_reduction(e); });
  return varies_[&*expr] = varies;
}

bool Compiler::has_unchecked_load(const Expr& expr) {
  const auto known = unchecked_.find(&*expr);
  if (known != unchecked_.end()) return known->second;
  bool found = expr->op == ExprOp::load && !has_out_of_range_value(expr);
  for (const Expr& operand : expr->operands) found = found || has_unchecked_load(operand);
  return unchecked_[&*expr] = found;
}

std::vector<Instr>& Compiler::list_of(const Expr& expr, Mode mode) {
  if (part_ == Part::results) return tape_.finish;
  // A guard may vary in the reduction even if the expression that it guards does not.
  const bool inner = part_ == Part::combination || mode.guard_varies || varies_in_reduction(expr);
  return inner ? tape_.inner : tape_.outer;
}

void Compiler::compile_reduction(const Reducer& reducer) {
  const Mode wide{.wide = true};
  const auto size = static_cast<int64_t>(reducer.size());
  std::vector<int> accumulators;
  for (const Expr& identity : reducer.identity) {
    const RegClass type = class_of(identity.dtype(), wide);
    const int accumulator = fresh();
    add(tape_.restart, {.run = constant_instruction(type),
                        .dst = accumulator,
                        .integer = identity->id,
                        .number = identity->number});
    accumulators.push_back(accumulator);
  }
  const bool nothing = element_count(stage_.reduce_axes) == 0;
  if (!nothing && !compile_multiply_add(reducer, accumulators[0])) {
    for (int64_t i = 0; i < size; ++i) {
      const Expr& element = stage_.elements[static_cast<size_t>(i)];
      const int reg = value_of(element, narrow());
      const RegClass from = reg_class(element.dtype());
      const RegClass to = class_of(element.dtype(), wide);
      arguments_[i] = accumulators[static_cast<size_t>(i)];
      arguments_[size + i] =
          from == to ? reg : add(tape_.inner, {.run = convert_instruction(from, to), .a = reg});
    }
    part_ = Part::combination;
    std::vector<int> combined;
    for (const Expr& combine : reducer.combine) combined.push_back(value_of(combine, wide));
    for (size_t i = 0; i < combined.size(); ++i) {
      add(tape_.inner, {.run = copy_instruction(), .dst = accumulators[i], .a = combined[i]});
    }
  }
  arguments_.clear();
  for (int64_t i = 0; i < size; ++i) {
    const DType dtype = reducer.identity[static_cast<size_t>(i)].dtype();
    const RegClass from = class_of(dtype, wide);
    const int reg = accumulators[static_cast<size_t>(i)];
    const int plain =
        from == reg_class(dtype)
            ? reg
            : add(tape_.finish, {.run = convert_instruction(from, reg_class(dtype)), .a = reg});
    arguments_[i] = narrowed(tape_.finish, plain, dtype, narrow());
  }
}

bool Compiler::compile_multiply_add(const Reducer& reducer, int accumulator) {
  const Expr& element = stage_.elements[0];
  if (!adds(reducer) || element->op != ExprOp::mul || element.dtype() != DType::f32) {
    return false;
  }
  const Expr& x = element->operands[0];
  const Expr& y = element->operands[1];
  if (x->op != ExprOp::load || y->op != ExprOp::load) return false;
  const size_t loads = tape_.loads.size();
  const size_t copies = tape_.padded.size();
  const auto load_x = strided(x, true);
  const auto load_y = load_x ? strided(y, true) : std::nullopt;
  if (!load_y) {
    tape_.loads.resize(loads);
    tape_.padded.resize(copies);
    return false;
  }
  add(tape_.inner,
      {.run = multiply_add_instruction(), .dst = accumulator, .a = *load_x, .b = *load_y});
  return true;
}

int Compiler::value_of(const Expr& expr, Mode mode) {
  if (expr->op == ExprOp::arg) return arguments_.at(expr->id);
  const auto key = std::pair{&*expr, mode};
  const auto known = registers_.find(key);
  if (known != registers_.end()) return known->second;
  return registers_[key] = emit(expr, mode);
}

int Compiler::emit(const Expr& expr, Mode mode) {
  const RegClass type = class_of(expr.dtype(), mode);
  switch (expr->op) {
    case ExprOp::constant:
      return add(tape_.setup,
                 {.run = constant_instruction(type), .integer = expr->id, .number = expr->number});
    case ExprOp::axis: {
      const bool reduced = expr->id >= tape_.out_rank;
      if (!reduced) tape_.axis_is_value[static_cast<size_t>(expr->id)] = true;
      return add(list_of(expr, mode), {.run = axis_instruction(reduced),
                                       .integer = reduced ? expr->id - tape_.out_rank : expr->id});
    }
    case ExprOp::load: return emit_load(expr, mode);
    case ExprOp::cast: return emit_cast(expr, mode);
    case ExprOp::select: return emit_select(expr, mode);
    default: break;
  }
  std::vector<int> operands;
  for (const Expr& operand : expr->operands) operands.push_back(value_of(operand, mode));
  const RegClass operand_type = class_of(expr->operands[0].dtype(), mode);
  Instr instr;
  instr.run = operands.size() == 1 ? unary_instruction(expr->op, operand_type)
                                   : binary_instruction(expr->op, operand_type);
  require(instr.run != nullptr, "'{}' has no meaning for {}", name(expr->op),
          name(expr->operands[0].dtype()));
  instr.a = operands[0];
  if (operands.size() > 1) instr.b = operands[1];
  std::vector<Instr>& list = list_of(expr, mode);
  return narrowed(list, add(list, std::move(instr)), expr.dtype(), mode);
}

int Compiler::emit_select(const Expr& expr, Mode mode) {
  std::vector<Instr>& list = list_of(expr, mode);
  const int condition = value_of(expr->operands[0], mode);
  const auto side = [&](const Expr& arm, bool taken) {
    if (!has_unchecked_load(arm)) return value_of(arm, mode);
    // Guards are computed with the condition, not with the select: a branch that does not vary in
    // the reduction runs before it.
    std::vector<Instr>& guards = list_of(expr->operands[0], mode);
    int guard = condition;
    if (!taken) {
      guard =
          add(guards, {.run = unary_instruction(ExprOp::logical_not, RegClass::i64), .a = guard});
    }
    if (mode.guard >= 0) {
      guard = add(
          guards,
          {.run = binary_instruction(ExprOp::bit_and, RegClass::i64), .a = guard, .b = mode.guard});
    }
    const bool varies = mode.guard_varies || varies_in_reduction(expr->operands[0]);
    return value_of(arm, {mode.wide, guard, varies});
  };
  const int a = side(expr->operands[1], true);
  const int b = side(expr->operands[2], false);
  return add(
      list,
      {.run = select_instruction(class_of(expr.dtype(), mode)), .a = condition, .b = a, .c = b});
}

int Compiler::emit_cast(const Expr& expr, Mode mode) {
  const Expr& from = expr->operands[0];
  const int reg = value_of(from, mode);
  std::vector<Instr>& list = list_of(expr, mode);
  const RegClass from_class = class_of(from.dtype(), mode);
  if (expr.dtype() == DType::boolean) {
    const int zero = add(tape_.setup, {.run = constant_instruction(from_class)});
    const int equal =
        add(list, {.run = binary_instruction(ExprOp::eq, from_class), .a = reg, .b = zero});
    return add(list, {.run = unary_instruction(ExprOp::logical_not, RegClass::i64), .a = equal});
  }
  if (const Instr::Run run = mode.wide ? nullptr : round_instruction(from_class, expr.dtype())) {
    return add(list, {.run = run, .a = reg});
  }
  const RegClass to_class = class_of(expr.dtype(), mode);
  const int converted =
      from_class == to_class
          ? reg
          : add(list, {.run = convert_instruction(from_class, to_class), .a = reg});
  return narrowed(list, converted, expr.dtype(), mode);
}

int Compiler::emit_load(const Expr& expr, Mode mode) {
  assert(!mode.wide);  // only combinations are wide, and they do not load
  std::vector<Instr>& list = list_of(expr, mode);
  if (const auto load = strided(expr, mode.guard < 0)) {
    return add(list, {.run = strided_load_instruction(expr.dtype()), .load = *load});
  }
  Instr instr{.run = checked_load_instruction(expr.dtype())};
  instr.value = static_cast<int>(expr->id);
  for (int i = 0; i < expr->rank; ++i) {
    instr.index.push_back(value_of(expr->operands[static_cast<size_t>(i)], mode));
  }
  instr.a = has_out_of_range_value(expr) ? value_of(expr->operands.back(), mode) : -1;
  instr.b = mode.guard;
  return add(list, std::move(instr));
}

std::optional<int> Compiler::strided(const Expr& load, bool may_pad) {
  const Shape& shape = workload_.values[static_cast<size_t>(load->id)].type.shape;
  std::vector<Affine> index;
  std::vector<Interval> ranges;
  bool inside = true;
  for (size_t i = 0; i < shape.size(); ++i) {
    const auto affine = affine_of(load->operands[i], extents_.size());
    const auto range = interval_of(load->operands[i], extents_);
    if (!affine || !range) return std::nullopt;
    index.push_back(*affine);
    ranges.push_back(*range);
    inside = inside && range->within({0, shape[i] - 1});
  }
  StridedLoad result;
  result.value = static_cast<int>(load->id);
  Shape strides = row_major_strides(shape);
  if (!inside) {
    const auto copy = may_pad ? padded_copy(load, ranges) : std::nullopt;
    if (!copy) return std::nullopt;
    result.padded = *copy;
    const PaddedCopy& padded = tape_.padded[static_cast<size_t>(*copy)];
    strides = row_major_strides(padded.extent);
    for (size_t i = 0; i < shape.size(); ++i) index[i].constant -= padded.low[i];
  }
  result.out_strides.resize(stage_.axes.size());
  result.reduce_strides.resize(stage_.reduce_axes.size());
  for (size_t i = 0; i < shape.size(); ++i) {
    result.origin += index[i].constant * strides[i];
    for (size_t axis = 0; axis < extents_.size(); ++axis) {
      if (extents_[axis] == 1) continue;  // no steps along it, so its coefficient is arbitrary
      int64_t& stride = axis < stage_.axes.size()
                            ? result.out_strides[axis]
                            : result.reduce_strides[axis - stage_.axes.size()];
      stride += index[i].coefficients[axis] * strides[i];
    }
  }
  tape_.loads.push_back(std::move(result));
  return static_cast<int>(tape_.loads.size()) - 1;
}

std::optional<int> Compiler::padded_copy(const Expr& load, const std::vector<Interval>& ranges) {
  if (!has_out_of_range_value(load)) return std::nullopt;
  const Expr& outside = load->operands.back();
  if (!outside.is_constant()) return std::nullopt;
  PaddedCopy copy;
  copy.value = static_cast<int>(load->id);
  copy.outside = outside;
  const int64_t size = workload_.values[static_cast<size_t>(load->id)].type.count();
  const int64_t limit = std::max(
      kPaddedSmall, size > (int64_t{1} << 60) / kPaddedGrowth ? size : size * kPaddedGrowth);
  int64_t count = 1;
  for (const Interval& range : ranges) {
    copy.low.push_back(range.low);
    copy.extent.push_back(range.high - range.low + 1);
    if (__builtin_mul_overflow(count, copy.extent.back(), &count) || count > limit) {
      return std::nullopt;
    }
  }
  tape_.padded.push_back(std::move(copy));
  return static_cast<int>(tape_.padded.size()) - 1;
}

}  // namespace

RegClass reg_class(DType dtype) {
  if (dtype == DType::f64) return RegClass::f64;
  if (is_float(dtype)) return RegClass::f32;
  return dtype == DType::u64 ? RegClass::u64 : RegClass::i64;
}

Tape compile(const Workload& workload, const Stage& stage) {
  return Compiler(workload, stage).compile();
}

}  // namespace aoe

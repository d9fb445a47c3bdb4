#include <gtest/gtest.h>

#include <cstring>

#include "expr/builder.h"
#include "expr/evaluate.h"
#include "tests/cpp/element_values.h"
#include "tests/cpp/generated.h"

// Every operation on every type, against the reference, on each instruction set of the machine.

namespace aoe {
namespace {

constexpr int kLanes = 16;

constexpr std::array kTypes{DType::f32,        DType::f64,      DType::f16,        DType::bf16,
                            DType::i8,         DType::i16,      DType::i32,        DType::i64,
                            DType::u8,         DType::u16,      DType::u32,        DType::u64,
                            DType::boolean,    DType::i4,       DType::u4,         DType::i2,
                            DType::u2,         DType::f8e4m3fn, DType::f8e4m3fnuz, DType::f8e5m2,
                            DType::f8e5m2fnuz, DType::f8e8m0,   DType::f4e2m1};

constexpr std::array kMathOps{ExprOp::exp,  ExprOp::log,   ExprOp::tanh,  ExprOp::erf,
                              ExprOp::sqrt, ExprOp::sin,   ExprOp::cos,   ExprOp::tan,
                              ExprOp::asin, ExprOp::acos,  ExprOp::atan,  ExprOp::sinh,
                              ExprOp::cosh, ExprOp::asinh, ExprOp::acosh, ExprOp::atanh};
constexpr std::array kPlainOps{ExprOp::neg,    ExprOp::abs,         ExprOp::floor,
                               ExprOp::ceil,   ExprOp::round,       ExprOp::is_nan,
                               ExprOp::is_inf, ExprOp::logical_not, ExprOp::bit_not};
constexpr std::array kBinaryOps{
    ExprOp::add, ExprOp::sub, ExprOp::mul,     ExprOp::div,    ExprOp::mod,    ExprOp::rem,
    ExprOp::pow, ExprOp::min, ExprOp::max,     ExprOp::eq,     ExprOp::lt,     ExprOp::le,
    ExprOp::shl, ExprOp::shr, ExprOp::bit_and, ExprOp::bit_or, ExprOp::bit_xor};

struct Case {
  std::string title;
  Expr expr;  // over arg(0) and arg(1)
  Tolerance tolerance = {};
};

// Returns whether the reference accepts the expression.
bool has_meaning(const Expr& expr) {
  Builder b;
  const DType dtype = expr->operands[0].dtype();
  const Operand a = b.input({dtype, {1}});
  const bool two = expr->operands.size() == 2;
  const Operand r =
      b.map(a, [&](const Expr& x) { return two ? binary(expr->op, x, x) : unary(expr->op, x); });
  try {
    const Evaluator compiled(std::make_shared<const Workload>(b.finish({r})));
    return true;
  } catch (const Error&) {
    return false;
  }
}

// Bool is tested only in logic and comparisons.
bool is_tested(const Expr& expr) {
  if (expr->operands[0].dtype() == DType::boolean) {
    switch (expr->op) {
      case ExprOp::logical_not:
      case ExprOp::is_nan:
      case ExprOp::is_inf:
      case ExprOp::add:
      case ExprOp::sub:
      case ExprOp::mul:
      case ExprOp::min:
      case ExprOp::max:
      case ExprOp::eq:
      case ExprOp::lt:
      case ExprOp::le:
      case ExprOp::bit_and:
      case ExprOp::bit_or:
      case ExprOp::bit_xor: return true;
      default: return false;
    }
  }
  return has_meaning(expr);
}

Tolerance tolerance_of(ExprOp op, DType dtype) {
  if (dtype == DType::f64 || !is_float(dtype)) return {};
  const int64_t steps = dtype == DType::f32 ? 1 : 0;  // error of the reference
  switch (op) {
    case ExprOp::exp: return {2 + steps, 1.7e-38};
    case ExprOp::log: return {2 + steps};
    case ExprOp::tanh:
    case ExprOp::erf: return {4 + steps};
    default: return {};
  }
}

// `expr` with its arguments replaced.
Expr over(const Expr& expr, const std::vector<Expr>& arguments) {
  if (expr.is_constant()) return expr;
  if (expr->op == ExprOp::arg) return arguments[static_cast<size_t>(expr->id)];
  const Expr a = over(expr->operands[0], arguments);
  if (expr->op == ExprOp::cast) return cast(expr.dtype(), a);
  if (expr->operands.size() == 1) return unary(expr->op, a);
  return binary(expr->op, a, over(expr->operands[1], arguments));
}

// The type of the arguments.
DType input_type(const Expr& expr) {
  if (expr->op == ExprOp::arg) return expr.dtype();
  const Expr& first = expr->operands[0];
  return input_type(first.is_constant() ? expr->operands[1] : first);
}

Tensor reference(const Expr& expr, const std::vector<Tensor>& inputs) {
  Builder b;
  std::vector<Operand> operands;
  for (const Tensor& input : inputs) operands.push_back(b.input(input.type()));
  const Operand result = b.map(operands, [&](const std::vector<Expr>& e) { return over(expr, e); });
  auto workload = std::make_shared<const Workload>(b.finish({result}));
  return Evaluator(workload).run(inputs, 1)[0];
}

llvm::Value* emitted(Elements& elements, const Expr& expr, const std::vector<llvm::Value*>& args) {
  if (expr->op == ExprOp::arg) return args[static_cast<size_t>(expr->id)];
  if (expr.is_constant()) return elements.constant(expr, 1);
  const DType dtype = expr->operands[0].dtype();
  llvm::Value* const a = emitted(elements, expr->operands[0], args);
  if (expr->op == ExprOp::cast) return elements.cast(dtype, expr.dtype(), a);
  if (expr->operands.size() == 1) return elements.unary(expr->op, dtype, a);
  return elements.binary(expr->op, dtype, a, emitted(elements, expr->operands[1], args));
}

Generated::Body body_of(const Case& test, int lanes) {
  return Generated::loop(lanes, [=](Elements& elements, llvm::IRBuilder<>& b,
                                    const Generated::Arguments& arguments, llvm::Value* position) {
    const DType dtype = input_type(test.expr);
    std::vector<llvm::Value*> loaded;
    for (size_t i = 0; i < 2; ++i) {
      loaded.push_back(
          elements.load(dtype, Generated::at(b, dtype, arguments[i], position), lanes));
    }
    const DType result = test.expr.dtype();
    elements.store(result, emitted(elements, test.expr, loaded),
                   Generated::at(b, result, arguments[2], position));
  });
}

class ElementsOf : public testing::TestWithParam<Device> {
 protected:
  void check(const std::string& group, const std::vector<Case>& cases, int lanes = kLanes) {
    if (cases.empty()) return;
    std::vector<Generated::Body> bodies;
    bodies.reserve(cases.size());
    for (const Case& test : cases) bodies.push_back(body_of(test, lanes));
    const Generated generated(GetParam(), group + " " + std::to_string(lanes), bodies);
    for (size_t i = 0; i < cases.size(); ++i) run(cases[i], generated, i);
  }

 private:
  void run(const Case& test, const Generated& generated, size_t which) {
    const DType dtype = input_type(test.expr);
    const bool pairs = test.expr->operands.size() == 2;
    std::vector<Tensor> inputs{inputs_of(dtype, 0, pairs)};
    if (pairs) inputs.push_back(inputs_of(dtype, 1, pairs));
    const Tensor want = reference(test.expr, inputs);
    Tensor got(test.expr.dtype(), {kCount});
    std::memset(got.raw(), 0xcd, static_cast<size_t>(got.bytes()));
    generated.run(which, inputs[0].raw(), inputs.back().raw(), got.raw(), 0, kCount);
    const auto number = [&](const Tensor& tensor, int64_t i) {
      return dispatch(tensor.dtype(), [&](auto tag) {
        using T = typename decltype(tag)::type;
        return shown(tensor.data<T>()[i]);
      });
    };
    dispatch(want.dtype(), [&](auto tag) {
      using T = typename decltype(tag)::type;
      int64_t wrong = 0;
      for (int64_t i = 0; i < kCount; ++i) {
        if (agree(want.data<T>()[i], got.data<T>()[i], test.tolerance)) continue;
        if (++wrong > 3) continue;
        ADD_FAILURE() << test.title << " of " << number(inputs[0], i) << ", "
                      << number(inputs.back(), i) << ": " << number(got, i) << ", not "
                      << number(want, i);
      }
      if (wrong > 0) ADD_FAILURE() << test.title << ": " << wrong << " of " << kCount << " differ";
    });
  }
};

INSTANTIATE_TEST_SUITE_P(Host, ElementsOf, testing::ValuesIn(host_devices()),
                         [](const auto& device) {
                           return std::string(device.param.widest_vectors());
                         });

std::string title_of(ExprOp op, DType dtype) {
  return std::string(name(op)) + " " + std::string(name(dtype));
}

TEST_P(ElementsOf, UnaryOperationsMatchTheReference) {
  for (const DType dtype : kTypes) {
    std::vector<Case> cases;
    std::vector<ExprOp> ops(kMathOps.begin(), kMathOps.end());
    ops.insert(ops.end(), kPlainOps.begin(), kPlainOps.end());
    for (const ExprOp op : ops) {
      const Expr expr = unary(op, Expr::arg(0, dtype));
      if (is_tested(expr)) cases.push_back({title_of(op, dtype), expr, tolerance_of(op, dtype)});
    }
    check("unary " + std::string(name(dtype)), cases);
  }
}

TEST_P(ElementsOf, BinaryOperationsMatchTheReference) {
  for (const DType dtype : kTypes) {
    std::vector<Case> cases;
    for (const ExprOp op : kBinaryOps) {
      const Expr expr = binary(op, Expr::arg(0, dtype), Expr::arg(1, dtype));
      if (is_tested(expr)) cases.push_back({title_of(op, dtype), expr});
    }
    check("binary " + std::string(name(dtype)), cases);
  }
}

TEST_P(ElementsOf, KnownNumbersMatchTheReference) {
  std::vector<Case> cases;
  for (const DType dtype : {DType::f32, DType::f64}) {
    for (const double exponent : {1.0, 2.0, 3.0, -1.0, 0.5, 1.7}) {
      const Expr expr = pow(Expr::arg(0, dtype), exponent);
      cases.push_back({fmt::format("pow {} {}", exponent, name(dtype)), expr, {2}});
    }
    for (const double bound : {0.0, 6.0}) {
      cases.push_back({"max " + std::to_string(bound), max(Expr::arg(0, dtype), bound)});
      cases.push_back({"min " + std::to_string(bound), min(Expr::arg(0, dtype), bound)});
    }
  }
  // Clamped numbers are converted to integers without range checks.
  const Expr x = Expr::arg(0, DType::f32);
  for (const double high : {127.0, 0x1p40}) {
    const Expr clamped = min(max(round(x), -128.0), high);
    for (const DType to : {DType::i8, DType::u8, DType::i32, DType::i64}) {
      cases.push_back({fmt::format("at most {} to {}", high, name(to)), cast(to, clamped)});
    }
    cases.push_back({"swapped", cast(DType::i8, max(-128.0, min(high, x)))});
  }
  check("known numbers", cases);
}

TEST_P(ElementsOf, CastsMatchTheReference) {
  for (const DType from : kTypes) {
    std::vector<Case> cases;
    for (const DType to : kTypes) {
      if (from == to) continue;
      const std::string title = fmt::format("{} to {}", name(from), name(to));
      cases.push_back({title, cast(to, Expr::arg(0, from))});
    }
    check("cast " + std::string(name(from)), cases);
  }
}

TEST_P(ElementsOf, VectorsOfAnyLengthMatchTheReference) {
  std::vector<Case> cases;
  for (const DType dtype : {DType::f32, DType::f16, DType::f8e4m3fn, DType::i64, DType::u8}) {
    const Expr x = Expr::arg(0, dtype);
    for (const ExprOp op : {ExprOp::add, ExprOp::mod, ExprOp::max, ExprOp::pow, ExprOp::lt}) {
      cases.push_back({title_of(op, dtype), binary(op, x, Expr::arg(1, dtype))});
    }
    for (const DType to : {DType::i8, DType::i64, DType::f64, DType::bf16, DType::boolean}) {
      cases.push_back({fmt::format("{} to {}", name(dtype), name(to)), cast(to, x)});
    }
  }
  std::erase_if(cases, [](const Case& test) { return test.expr->op == ExprOp::arg; });
  for (const int lanes : {1, 2, 32}) check("lengths", cases, lanes);
}

// One condition per lane, one for all lanes, and scalars mixed with vectors.
TEST_P(ElementsOf, SelectsChooseLanes) {
  const auto select = [](bool scalar) {
    return Generated::loop(
        kLanes, [=](Elements& elements, llvm::IRBuilder<>& b, const Generated::Arguments& arguments,
                    llvm::Value* position) {
          const auto load = [&](size_t which, int lanes) {
            return elements.load(DType::i32,
                                 Generated::at(b, DType::i32, arguments[which], position), lanes);
          };
          llvm::Value* const zero = elements.constant(Expr::integer(DType::i32, 0), 1);
          llvm::Value* const condition =
              elements.binary(ExprOp::lt, DType::i32, load(0, scalar ? 1 : kLanes), zero);
          elements.store(DType::i32, elements.select(condition, zero, load(1, kLanes)),
                         Generated::at(b, DType::i32, arguments[2], position));
        });
  };
  const Generated generated(GetParam(), "select", {select(false), select(true)});
  std::array<int32_t, kLanes> a{-1, 1, -2, 2, 0, -3};
  std::array<int32_t, kLanes> b;
  b.fill(7);
  std::array<int32_t, kLanes> out;
  generated.run(0, a.data(), b.data(), out.data(), 0, kLanes);
  for (size_t i = 0; i < out.size(); ++i) EXPECT_EQ(out[i], a[i] < 0 ? 0 : 7);
  generated.run(1, a.data(), b.data(), out.data(), 0, kLanes);
  EXPECT_EQ(std::count(out.begin(), out.end(), 0), kLanes);
}

TEST_P(ElementsOf, RefuseWhatHasNoMeaning) {
  const auto emit = [&](const Expr& expr) {
    return [&, expr] { return Generated(GetParam(), "refused", {body_of({"", expr}, 4)}); };
  };
  EXPECT_THROW(emit(unary(ExprOp::bit_not, Expr::arg(0, DType::f32)))(), Error);
  EXPECT_THROW(emit(unary(ExprOp::sqrt, Expr::arg(0, DType::i32)))(), Error);
  EXPECT_THROW(emit(unary(ExprOp::neg, Expr::arg(0, DType::boolean)))(), Error);
}

}  // namespace
}  // namespace aoe

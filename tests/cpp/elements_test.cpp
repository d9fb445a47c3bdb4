#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <random>

#include "expr/builder.h"
#include "expr/evaluate.h"
#include "tests/cpp/generated.h"

// Every operation on every type, against the reference, on each instruction set of the machine.

namespace aoe {
namespace {

constexpr int kLanes = 16;
constexpr int64_t kCount = 1 << 16;

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

// How far two results may be apart: neighbours of the result type, and near zero a distance.
struct Tolerance {
  int64_t steps = 0;
  double distance = 0;
};

struct Case {
  std::string title;
  Expr expr;  // over arg(0) and arg(1)
  Tolerance tolerance = {};
};

// To the reference.
bool has_meaning(const Expr& expr) {
  Builder b;
  const DType dtype = expr->operands[0].dtype();
  const Operand a = b.input({dtype, {1}});
  const bool two = expr->operands.size() == 2;
  const Operand r =
      b.map(a, [&](const Expr& x) { return two ? binary(expr->op, x, x) : unary(expr->op, x); });
  try {
    Evaluator(std::make_shared<const Workload>(b.finish({r})));
    return true;
  } catch (const Error&) {
    return false;
  }
}

// Bool is a number only in logic and comparisons.
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
  const int64_t steps = dtype == DType::f32 ? 1 : 0;  // the reference's own
  switch (op) {
    case ExprOp::exp: return {2 + steps, 1.7e-38};
    case ExprOp::log: return {2 + steps};
    case ExprOp::tanh:
    case ExprOp::erf: return {4 + steps};
    default: return {};
  }
}

// Edges first, then anything: patterns and ordinary numbers.
Tensor inputs_of(DType dtype, int which, bool pairs) {
  Tensor tensor(dtype, {kCount});
  std::mt19937_64 random(static_cast<unsigned>(which) + 17);
  const int bytes = info(dtype).bytes;
  if (dtype == DType::boolean) {
    for (int64_t i = 0; i < kCount; ++i) tensor.data<bool>()[i] = ((i >> which) & 1) != 0;
    return tensor;
  }
  if (bytes == 1) {
    // All patterns, or all pairs of them.
    for (int64_t i = 0; i < kCount; ++i) tensor.data<uint8_t>()[i] = i >> (which * 8) & 0xff;
    return tensor;
  }
  if (bytes == 2 && !pairs) {
    for (int64_t i = 0; i < kCount; ++i) tensor.data<uint16_t>()[i] = static_cast<uint16_t>(i);
    return tensor;
  }
  std::normal_distribution<double> normal(0, 10);
  std::vector<double> edges{
      0.0,      -0.0,     1,          -1,        0.5,     -0.5,       1.5,        2.5,
      -2.5,     3,        7,          8,         31,      32,         63,         64,
      65,       100,      127,        128,       255,     256,        -128,       -129,
      448,      464,      57344,      65504,     65519,   65520,      1e-40,      -1e-40,
      1e-8,     6e-8,     2.98e-8,    0x1p31,    -0x1p31, 0x1p32,     0x1.8p31,   0x1p33,
      0x1p62,   0x1p63,   -0x1p63,    -0x1.8p63, 0x1p64,  1e20,       -1e20,      88.72,
      88.73,    -87.3,    -87.4,      -103.9,    -104.1,  1e38,       3.4e38,     1e300,
      -1e300,   1e-300,   INFINITY,   -INFINITY, NAN,     2147483520, 4294967040, 0x1p-126,
      0x1p-127, 0x1p-128, 0x1.8p-127, 3.92,      9.01};
  dispatch(dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    T* to = tensor.data<T>();
    const auto count = static_cast<int64_t>(edges.size());
    for (int64_t i = 0; i < kCount; ++i) {
      const int64_t edge = which == 0 ? i % count : i / count;
      if constexpr (std::is_integral_v<T>) {
        constexpr std::array whole{std::numeric_limits<T>::min(),
                                   std::numeric_limits<T>::max(),
                                   T(0),
                                   T(1),
                                   T(-1),
                                   T(2),
                                   T(-2),
                                   T(3),
                                   T(7),
                                   T(31),
                                   T(32),
                                   T(63),
                                   T(64),
                                   T(65),
                                   T(-7),
                                   T(100)};
        const auto n = static_cast<int64_t>(whole.size());
        const int64_t place = which == 0 ? i % n : i / n;
        if (place < n && i < n * n) to[i] = whole[static_cast<size_t>(place)];
        else if (i % 2 == 0) to[i] = static_cast<T>(random());
        else to[i] = static_cast<T>(static_cast<int64_t>(normal(random)));
      } else if (edge < count && i < count * count) {
        to[i] = static_cast<T>(edges[static_cast<size_t>(edge)]);
      } else if (i % 2 == 0) {
        const uint64_t bits = random();
        std::memcpy(static_cast<void*>(&to[i]), &bits, sizeof(T));
      } else {
        to[i] = static_cast<T>(normal(random));
      }
    }
  });
  return tensor;
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

// Patterns in the order of their values.
template <typename Bits>
int64_t ordered(Bits bits, Bits sign) {
  const auto magnitude = static_cast<int64_t>(bits & static_cast<Bits>(~sign));
  return (bits & sign) != 0 ? -magnitude : magnitude;
}

template <typename T>
bool agree(const T& want, const T& got, const Tolerance& tolerance) {
  if (std::memcmp(&want, &got, sizeof(T)) == 0) return true;
  if constexpr (std::is_same_v<T, float> || std::is_same_v<T, double> || requires { T::format; }) {
    const auto x = static_cast<double>(want);
    const auto y = static_cast<double>(got);
    if (std::isnan(x) || std::isnan(y)) return std::isnan(x) && std::isnan(y);
    if (tolerance.steps == 0) return false;
    if (std::fabs(x - y) <= tolerance.distance) return true;
    using Bits = std::conditional_t<
        sizeof(T) == 8, uint64_t,
        std::conditional_t<sizeof(T) == 4, uint32_t,
                           std::conditional_t<sizeof(T) == 2, uint16_t, uint8_t>>>;
    Bits sign = Bits{1} << (sizeof(Bits) * 8 - 1);
    if constexpr (requires { T::format; }) sign = T::format.sign_bit();
    const int64_t steps =
        ordered(std::bit_cast<Bits>(want), sign) - ordered(std::bit_cast<Bits>(got), sign);
    // Of a type that f32 rounds to, one step at most.
    return std::abs(steps) <= (sizeof(T) >= 4 ? tolerance.steps : 1);
  }
  return false;
}

template <typename T>
double shown(const T& value) {
  if constexpr (requires { static_cast<float>(value); })
    return static_cast<double>(static_cast<float>(value));
  else return static_cast<double>(static_cast<int64_t>(value));
}

class ElementsOf : public testing::TestWithParam<Device> {
 protected:
  void check(const std::string& group, const std::vector<Case>& cases) {
    if (cases.empty()) return;
    std::vector<Generated::Body> bodies;
    bodies.reserve(cases.size());
    for (const Case& test : cases) bodies.push_back(body_of(test, kLanes));
    const Generated generated(GetParam(), group, bodies);
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
                           return std::string(name(device.param.instruction_set));
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
  // Clamped numbers need no care when they become integers.
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

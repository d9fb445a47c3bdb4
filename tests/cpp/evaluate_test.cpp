#include <gtest/gtest.h>

#include <cmath>
#include <numeric>
#include <random>

#include "expr/builder.h"
#include "expr/evaluate.h"
#include "expr/parse.h"

namespace aoe {
namespace {

std::vector<Tensor> evaluate(Builder& b, const std::vector<Operand>& outputs,
                             const std::vector<Tensor>& inputs, int threads = 1) {
  auto workload = std::make_shared<const Workload>(b.finish(outputs));
  verify(*workload);
  return Evaluator(workload).run(inputs, threads);
}

Tensor random_floats(Shape shape, unsigned seed) {
  Tensor tensor(DType::f32, std::move(shape));
  std::mt19937 random(seed);
  std::normal_distribution<float> normal;
  for (int64_t i = 0; i < tensor.count(); ++i) tensor.data<float>()[i] = normal(random);
  return tensor;
}

Tensor ints(const std::vector<int64_t>& values) { return Tensor::of_ints(values); }

template <typename T>
std::vector<T> elements(const Tensor& tensor) {
  return {tensor.data<T>(), tensor.data<T>() + tensor.count()};
}

struct ConvCase {
  int64_t channels, size, kernel, stride, pad;
};
class Convolution : public testing::TestWithParam<ConvCase> {};

// Short and long rows cover gathered and linear strips, padded copies and strides.
INSTANTIATE_TEST_SUITE_P(Shapes, Convolution,
                         testing::Values(ConvCase{3, 7, 3, 1, 1}, ConvCase{2, 61, 3, 1, 1},
                                         ConvCase{4, 130, 1, 1, 0}, ConvCase{1, 53, 5, 2, 2},
                                         ConvCase{5, 9, 2, 3, 0}, ConvCase{1, 1, 1, 1, 0}));

TEST_P(Convolution, MatchesPlainLoops) {
  const auto [channels, size, kernel, stride, pad] = GetParam();
  const int64_t outputs = 6;
  const int64_t out = (size + 2 * pad - kernel) / stride + 1;
  const Tensor x = random_floats({channels, size, size}, 1);
  const Tensor w = random_floats({outputs, channels, kernel, kernel}, 2);
  Builder b;
  const Operand bx = b.input(x.type());
  const Operand bw = b.input(w.type());
  const Operand y = b.reduce(
      sum_of(DType::f32), {outputs, out, out}, {channels, kernel, kernel},
      [&](const Axes& o, const Axes& r) {
        return bx.or_outside({r[0], o[1] * stride + r[1] - pad, o[2] * stride + r[2] - pad},
                             Expr::constant(DType::f32, 0)) *
               bw({o[0], r[0], r[1], r[2]});
      });
  const Tensor got = evaluate(b, {y}, {x, w}, 2)[0];
  for (int64_t m = 0; m < outputs; ++m) {
    for (int64_t i = 0; i < out; ++i) {
      for (int64_t j = 0; j < out; ++j) {
        double expected = 0;
        for (int64_t c = 0; c < channels; ++c) {
          for (int64_t k = 0; k < kernel; ++k) {
            for (int64_t l = 0; l < kernel; ++l) {
              const int64_t row = i * stride + k - pad;
              const int64_t column = j * stride + l - pad;
              if (row < 0 || row >= size || column < 0 || column >= size) continue;
              expected += double{x.data<float>()[(c * size + row) * size + column]} *
                          w.data<float>()[((m * channels + c) * kernel + k) * kernel + l];
            }
          }
        }
        ASSERT_FLOAT_EQ(got.data<float>()[(m * out + i) * out + j], static_cast<float>(expected));
      }
    }
  }
}

TEST(Evaluate, ThreadsDoNotChangeAnyBit) {
  const Tensor x = random_floats({300, 700}, 3);
  const auto run = [&](int threads) {
    Builder b;
    const Operand bx = b.input(x.type());
    const Operand y =
        b.reduce(sum_of(DType::f32), {300, 300}, {700},
                 [&](const Axes& o, const Axes& r) { return bx({o[0], r[0]}) * bx({o[1], r[0]}); });
    return elements<float>(evaluate(b, {y}, {x}, threads)[0]);
  };
  const auto one = run(1);
  EXPECT_EQ(one, run(2));
  EXPECT_EQ(one, run(5));
}

TEST(Evaluate, SumsOfFloatsAreAccumulatedWide) {
  // In f32 the sum would stop growing at 2^24.
  const int64_t count = (1 << 24) + 1000;
  Builder b;
  const Operand y = b.reduce(sum_of(DType::f32), {}, {count}, [](const Axes&, const Axes&) {
    return Expr::constant(DType::f32, 1);
  });
  EXPECT_EQ(elements<float>(evaluate(b, {y}, {})[0])[0], static_cast<float>(count));
}

TEST(Evaluate, ArgMaxTakesTheFirstOrLastOfEquals) {
  const Tensor x = Tensor::of<float>({1, 5, 2, 5, NAN, 1, -INFINITY, -INFINITY}, {2, 4});
  for (const bool last : {false, true}) {
    Builder b;
    const Operand bx = b.input(x.type());
    const auto y = b.reduce_all(
        arg_max_of(DType::f32, last), {2}, {4},
        [&](const Axes& o, const Axes& r) { return std::vector{bx({o[0], r[0]}), r[0]}; },
        [](const Axes&, const std::vector<Expr>& best) { return std::vector{best[1]}; });
    EXPECT_EQ(elements<int64_t>(evaluate(b, y, {x})[0]), (std::vector<int64_t>{last ? 3 : 1, 0}));
  }
}

TEST(Evaluate, MomentsAreThoseOfTheNumbers) {
  const Tensor x = random_floats({1000}, 4);
  Builder b;
  const Operand bx = b.input(x.type());
  const Expr zero = Expr::constant(DType::f32, 0);
  const auto y = b.reduce_all(
      moments_of(DType::f32), {}, {1000},
      [&](const Axes&, const Axes& r) { return std::vector{zero + 1, bx({r[0]}), zero}; },
      [](const Axes&, const std::vector<Expr>& m) { return m; });
  const auto got = evaluate(b, y, {x});
  const std::vector<double> values = x.to_doubles();
  const double mean = std::accumulate(values.begin(), values.end(), 0.0) / 1000;
  double squares = 0;
  for (const double v : values) squares += (v - mean) * (v - mean);
  EXPECT_EQ(elements<float>(got[0])[0], 1000);
  EXPECT_NEAR(elements<float>(got[1])[0], mean, 1e-6);
  EXPECT_NEAR(elements<float>(got[2])[0], squares, squares * 1e-6);
}

Tensor gathered(const Tensor& x, const Tensor& indices) {
  Builder b;
  const Operand bx = b.input(x.type());
  const Operand bi = b.input(indices.type());
  const Operand y = b.compute(indices.shape(), [&](const Axes& i) { return bx({bi(i)}); });
  return evaluate(b, {y}, {x, indices})[0];
}

TEST(Evaluate, LoadedIndexesGather) {
  EXPECT_EQ(elements<int64_t>(gathered(ints({10, 20, 30}), ints({2, 0, 0, 1}))),
            (std::vector<int64_t>{30, 10, 10, 20}));
}

TEST(Evaluate, LoadedIndexesOutOfRangeAreErrors) {
  EXPECT_THROW(gathered(ints({10, 20, 30}), ints({3})), Error);
  EXPECT_THROW(gathered(ints({10, 20, 30}), ints({-1})), Error);
}

TEST(Evaluate, OnlyTheChosenSideOfASelectMustBeInBounds) {
  const Tensor x = ints({10, 20, 30});
  const auto run = [&](const Tensor& indices) {
    Builder b;
    const Operand bx = b.input(x.type());
    const Operand bi = b.input(indices.type());
    const Operand y = b.compute(
        indices.shape(), [&](const Axes& i) { return select(lt(bi(i), 0), -bi(i), bx({bi(i)})); });
    return elements<int64_t>(evaluate(b, {y}, {x, indices})[0]);
  };
  EXPECT_EQ(run(ints({-7, 1})), (std::vector<int64_t>{7, 20}));
  EXPECT_THROW(run(ints({7})), Error);
}

// The arm that is invariant in the reduction is loaded before it, under its own guard.
TEST(Evaluate, SelectsInReductionsGuardTheirLoads) {
  const Tensor x = ints({10, 20, 30});
  const Tensor which = ints({1, 9});
  Builder b;
  const Operand bx = b.input(x.type());
  const Operand bw = b.input(which.type());
  const Operand y = b.reduce(sum_of(DType::i64), {2}, {3}, [&](const Axes& o, const Axes& r) {
    return select(lt(2, bw({o[0]})), bx({r[0]}), bx({bw({o[0]})}));
  });
  EXPECT_EQ(elements<int64_t>(evaluate(b, {y}, {x, which})[0]), (std::vector<int64_t>{60, 60}));
}

TEST(Evaluate, ReductionOverNothingIsTheIdentity) {
  const Tensor x(DType::f32, {3, 0});
  Builder b;
  const Operand bx = b.input(x.type());
  const auto element = [&](const Axes& o, const Axes& r) { return bx({o[0], r[0]}); };
  const Operand sum = b.reduce(sum_of(DType::f32), {3}, {0}, element);
  const Operand max = b.reduce(max_of(DType::f32), {3}, {0}, element);
  const auto got = evaluate(b, {sum, max}, {x});
  EXPECT_EQ(elements<float>(got[0]), (std::vector<float>{0, 0, 0}));
  EXPECT_EQ(elements<float>(got[1])[0], -INFINITY);
}

TEST(Evaluate, IntegersWrapAtTheirWidth) {
  const Tensor x = Tensor::of<int8_t>({127, -128, 100}, {3});
  Builder b;
  const Operand bx = b.input(x.type());
  const Operand sum = b.map(bx, [](const Expr& e) { return e + 1; });
  const Operand product = b.map(bx, [](const Expr& e) { return e * e; });
  const auto got = evaluate(b, {sum, product}, {x});
  EXPECT_EQ(elements<int8_t>(got[0]), (std::vector<int8_t>{-128, -127, 101}));
  EXPECT_EQ(elements<int8_t>(got[1]), (std::vector<int8_t>{1, 0, 16}));
}

TEST(Evaluate, IntegerDivisionByZeroOrOverflowDoesNotTrap) {
  const int64_t lowest = std::numeric_limits<int64_t>::min();
  const Tensor x = ints({lowest, 7, lowest});
  const Tensor y = ints({-1, 0, 0});
  Builder b;
  const Operand bx = b.input(x.type());
  const Operand by = b.input(y.type());
  const auto binary = [&](ExprOp op) {
    return b.map(bx, by, [op](const Expr& p, const Expr& q) { return aoe::binary(op, p, q); });
  };
  const Operand quotient = binary(ExprOp::div);
  const Operand modulus = binary(ExprOp::mod);
  const auto got = evaluate(b, {quotient, modulus}, {x, y});
  EXPECT_EQ(elements<int64_t>(got[0]), (std::vector<int64_t>{lowest, 0, 0}));
  EXPECT_EQ(elements<int64_t>(got[1]), (std::vector<int64_t>{0, 0, 0}));
}

TEST(Evaluate, AxesAreValuesToo) {
  Builder b;
  const Operand y = b.compute({3, 60}, [](const Axes& i) { return i[0] * 100 + i[1]; });
  const auto got = elements<int64_t>(evaluate(b, {y}, {})[0]);
  for (int64_t i = 0; i < 180; ++i) ASSERT_EQ(got[static_cast<size_t>(i)], i / 60 * 100 + i % 60);
}

TEST(Reduction, IsWhatItsCombinationSaysWhateverItsName) {
  const Workload workload = parse_workload(
      "in %0 f32[3]\nin %1 f32[3]\n"
      "%2 f32[] = sum{-inf:f32 -> max($0, $1)}(r:3) %0[r] * %1[r]\nout %2\n");
  const Evaluator evaluator(std::make_shared<const Workload>(workload));
  const Tensor x = Tensor::of<float>({1, 5, 2}, {3});
  EXPECT_EQ(evaluator.run({x, x}, 1)[0].to_doubles(), std::vector<double>{25});
}

}  // namespace
}  // namespace aoe

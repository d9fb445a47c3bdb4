#include <gtest/gtest.h>

#include <cmath>

#include "expr/affine.h"
#include "expr/builder.h"
#include "expr/parse.h"
#include "expr/rewrite.h"

namespace aoe {
namespace {

Expr axis(int64_t i) { return Expr::axis(i); }

TEST(Affine, SumsOfScaledAxes) {
  const auto found = affine_of(2 * axis(0) + axis(1) - 3 - 2 * (axis(1) + 1), 2);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->constant, -5);
  EXPECT_EQ(found->coefficients, (std::vector<int64_t>{2, -1}));
}

TEST(Affine, NotProductsOrQuotientsOfAxes) {
  EXPECT_FALSE(affine_of(axis(0) * axis(1), 2));
  EXPECT_FALSE(affine_of(axis(0) / 2, 1));
  EXPECT_FALSE(affine_of(axis(0) * (int64_t{1} << 62) * 4, 1)) << "the coefficient overflows";
}

TEST(Interval, FollowsExtents) {
  struct Case {
    Expr index;
    int64_t low, high;
  };
  const Shape extents{4, 10};
  const std::vector<Case> cases{
      {axis(0) * 3 - axis(1), -9, 9},
      {axis(1) / 3, 0, 3},
      {mod(axis(1), 4), 0, 3},
      {mod(axis(1) - 20, 7), 0, 6},
      {rem(axis(1) - 20, 7), -6, 6},
      {min(max(axis(1) - 5, 0), 3), 0, 3},
      {select(lt(axis(0), axis(1)), axis(0), -axis(1)), -9, 3},
  };
  for (const Case& c : cases) {
    const auto found = interval_of(c.index, extents);
    ASSERT_TRUE(found);
    EXPECT_LE(found->low, c.low);
    EXPECT_GE(found->high, c.high);
    EXPECT_TRUE(found->within({c.low, c.high})) << found->low << ".." << found->high;
  }
}

TEST(Interval, ClampedLoadsAreBounded) {
  const Expr loaded = Expr::load(0, DType::i64, {axis(0)});
  EXPECT_FALSE(interval_of(loaded, {4}));
  const auto clamped = interval_of(min(max(loaded, 0), 6), {4});
  ASSERT_TRUE(clamped);
  EXPECT_TRUE(clamped->within({0, 6}));
}

TEST(Rewriter, NodesThatExpressionsShareStayShared) {
  Expr shared = axis(0) * axis(1);
  std::vector<Expr> results{shared + 1, shared - 2};
  shared = {};
  int replaced = 0;
  Rewriter rewritten([&](const Expr& e) {
    if (e->op != ExprOp::axis) return Expr{};
    ++replaced;
    return axis(e->id + 1);
  });
  // Each is overwritten, which frees its nodes: new ones may get their addresses.
  for (Expr& result : results) result = rewritten(result);
  EXPECT_EQ(replaced, 2);
  EXPECT_EQ(&*results[0]->operands[0], &*results[1]->operands[0]);
  EXPECT_TRUE(results[0]->operands[0]->operands[0].is_axis(1));
  EXPECT_TRUE(results[0]->operands[0]->operands[1].is_axis(2));
}

TEST(Workload, PrintsAsShortText) {
  Builder b;
  const Operand x = b.input({DType::f32, {1, 8, 10}});
  const Operand w = b.input({DType::f32, {4, 8, 3}});
  const Operand y =
      b.reduce(sum_of(DType::f32), {1, 4, 10}, {8, 3}, [&](const Axes& o, const Axes& r) {
        return x.or_outside({o[0], r[0], o[2] + r[1] - 1}, Expr::constant(DType::f32, 0)) *
               w({o[1], r[0], r[1]});
      });
  const Operand z = b.map(b.reshape(y, {4, 10}), [](const Expr& e) { return max(e, 0); });
  EXPECT_EQ(to_string(b.finish({z})),
            "in %0 f32[1,8,10]\n"
            "in %1 f32[4,8,3]\n"
            "view %3 f32[4,10] = %2\n"
            "%2 f32[1,4,10] = sum(r:8,s:3) %0[a, r, (c + s) - 1]?0 * %1[b, r, s]\n"
            "%4 f32[4,10] = max(%3[a, b], 0)\n"
            "out %4\n");
}

TEST(Workload, VerifyFindsLoadsThatLeaveTheirTensor) {
  Builder b;
  const Operand x = b.input({DType::f32, {8}});
  const Operand y = b.compute({8}, [&](const Axes& i) { return x({i[0] + 1}); });
  EXPECT_THROW(verify(b.finish({y})), Error);
}

TEST(Workload, VerifyLetsGuardedLoadsBe) {
  Builder b;
  const Operand x = b.input({DType::f32, {8}});
  const Operand y = b.compute({9}, [&](const Axes& i) {
    return select(lt(i[0], 8), x({i[0]}), Expr::constant(DType::f32, 7));
  });
  EXPECT_NO_THROW(verify(b.finish({y})));
}

TEST(Expr, WhatStandsOutsideIsANumberOfTheElementsType) {
  const auto outside = [](DType dtype, double number) {
    return Expr::load(0, dtype, {axis(0)}, Expr::constant(dtype, number))->operands.back()->number;
  };
  EXPECT_EQ(outside(DType::bf16, 1.001), 1);
  EXPECT_TRUE(std::isnan(outside(DType::f8e8m0, 0))) << "it has no zero";
  EXPECT_EQ(outside(DType::f64, 1.001), 1.001);
}

TEST(Workload, FiguresCountWhatMustBeDoneAndMoved) {
  struct Case {
    const char* text;
    double operations;
    double bytes;
  };
  const Case cases[] = {
      // A product: one multiplication and one addition per element, the bias once per result.
      {"in %0 f32[4,8]\nweight %1 f32[8,6]\nin %2 f32[6]\n"
       "%3 f32[4,6] = sum(r:8) %0[a, r] * %1[r, b] -> $0 + %2[b]\nout %3",
       2 * 4 * 6 * 8 + 4 * 6, 4 * (4 * 8 + 8 * 6 + 6 + 4 * 6)},
      // Indexes, conversions and moves are free; common subexpressions count once.
      {"in %0 f16[4,8]\n%1 f32[8,4] = f32(%0[b, a])\nout %1", 0, (2 + 4) * 4 * 8},
      {"in %0 f32[10]\n%1 f32[10] = exp(%0[a]) * exp(%0[a])\nout %1", 2 * 10, 2 * 4 * 10},
  };
  for (const Case& c : cases) {
    const Workload workload = parse_workload(c.text);
    EXPECT_EQ(operations_of(workload), c.operations) << c.text;
    EXPECT_EQ(bytes_of(workload), c.bytes) << c.text;
  }
}

TEST(Expr, MixedTypesAreRefused) { EXPECT_THROW(axis(0) + Expr::constant(DType::f32, 1), Error); }

}  // namespace
}  // namespace aoe

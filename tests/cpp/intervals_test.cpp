#include "measure/statistics/intervals.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

namespace aoe {
namespace {

TEST(Intervals, RanksAreTheSignTests) {
  struct Case {
    size_t n;
    size_t rank;
  };
  // From tables of the binomial distribution: 2 P(X < rank) <= 0.01 < 2 P(X <= rank).
  for (const auto& [n, rank] : {Case{8, 1},
                                {10, 1},
                                {11, 1},
                                {12, 2},
                                {20, 4},
                                {30, 8},
                                {50, 16},
                                {100, 37},
                                {200, 82},
                                {1000, 459},
                                {5000, 2409}}) {
    EXPECT_EQ(rank_of_bound(n), rank) << n;
  }
}

TEST(Intervals, MediansLieBetweenTheirBounds) {
  std::vector<double> values;
  for (int i = 20; i > 0; --i) values.push_back(i);
  const Interval even = median_of(values);
  EXPECT_EQ(even.median, 10.5);
  EXPECT_EQ(even.low, 4);
  EXPECT_EQ(even.high, 17);
  values.push_back(1000);  // an outlier barely moves the median and its bounds
  const Interval odd = median_of(values);
  EXPECT_EQ(odd.median, 11);
  EXPECT_EQ(odd.low, 5);
  EXPECT_EQ(odd.high, 17);
}

// The interval contains the true median in 99 of 100 cases, for any distribution.
TEST(Intervals, HoldTheTrueMedianAsOftenAsTheySay) {
  std::mt19937 random(1);
  std::lognormal_distribution<double> skewed(0, 1);
  for (const size_t n : {8, 12, 50, 151}) {
    int missed = 0;
    constexpr int kTrials = 4000;
    for (int trial = 0; trial < kTrials; ++trial) {
      std::vector<double> values(n);
      for (double& value : values) value = skewed(random);
      const Interval interval = median_of(std::move(values));
      missed += interval.low > 1 || interval.high < 1 ? 1 : 0;
    }
    EXPECT_LT(missed, kTrials / 100 + 25) << n;  // four standard deviations
    EXPECT_GT(missed, 0) << n;
  }
}

TEST(Intervals, RatiosAreOfPairs) {
  // Both slow down to a third in the middle of the run; the ratio is unaffected.
  std::vector<double> a;
  std::vector<double> b;
  for (int i = 0; i < 40; ++i) {
    a.push_back((i < 20 ? 1 : 3) * (1 + 0.001 * (i % 7)));
    b.push_back(2 * (i < 20 ? 1 : 3) * (1 + 0.001 * (i % 5)));
  }
  const Interval ratio = ratio_of(a, b);
  EXPECT_NEAR(ratio.median, 0.5, 0.002);
  EXPECT_GT(ratio.low, 0.495);
  EXPECT_LT(ratio.high, 0.505);
  const Interval inverse = ratio_of(b, a);
  EXPECT_DOUBLE_EQ(inverse.median, 1 / ratio.median);
  EXPECT_DOUBLE_EQ(inverse.low, 1 / ratio.high);
  EXPECT_DOUBLE_EQ(inverse.high, 1 / ratio.low);
}

TEST(Intervals, ADifferenceIsProvenBeyondNoiseAndMargin) {
  const Interval quiet{1, 0.998, 1.002};
  const Interval noisy{1.01, 0.97, 1.06};
  struct Case {
    Interval ratio;
    Interval noise;
    Verdict verdict;
  };
  const Case cases[] = {
      {{0.8, 0.79, 0.81}, quiet, Verdict::faster},
      {{1.25, 1.24, 1.26}, quiet, Verdict::slower},
      {{1, 0.99, 1.01}, quiet, Verdict::not_proven},
      {{1.05, 0.99, 1.12}, quiet, Verdict::not_proven},     // may be 1
      {{1.007, 1.005, 1.009}, quiet, Verdict::not_proven},  // is not 1, but within the margin
      {{0.993, 0.991, 0.995}, quiet, Verdict::not_proven},
      {{1.05, 1.04, 1.059}, noisy, Verdict::not_proven},  // within the A/A noise floor
      {{0.96, 0.95, 0.97}, noisy, Verdict::not_proven},
      {{1.08, 1.07, 1.09}, noisy, Verdict::slower},
      {{0.9, 0.89, 0.91}, noisy, Verdict::faster},
  };
  for (const Case& c : cases) {
    EXPECT_EQ(verdict_on(c.ratio, c.noise), c.verdict) << c.ratio.median << " " << c.noise.median;
  }
  EXPECT_DOUBLE_EQ(noise_floor(quiet), 1 + kMargin);
  EXPECT_DOUBLE_EQ(noise_floor(noisy), 1.06);
}

// A model compared with itself: the same distribution in all three columns.
TEST(Intervals, EqualsAreNotProvenDifferent) {
  std::mt19937 random(2);
  std::normal_distribution<double> noise(0, 0.05);
  int proven = 0;
  for (int trial = 0; trial < 500; ++trial) {
    std::vector<double> first(30);
    std::vector<double> again(30);
    std::vector<double> other(30);
    for (size_t i = 0; i < first.size(); ++i) {
      const double drift = 1 + 0.3 * std::sin(static_cast<double>(i));
      first[i] = drift * std::exp(noise(random));
      again[i] = drift * std::exp(noise(random));
      other[i] = drift * std::exp(noise(random));
    }
    const Verdict verdict = verdict_on(ratio_of(other, first), ratio_of(again, first));
    proven += verdict == Verdict::not_proven ? 0 : 1;
  }
  EXPECT_LE(proven, 1);
}

}  // namespace
}  // namespace aoe

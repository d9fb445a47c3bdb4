#include "measure/statistics/proof.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "tests/cpp/noise.h"

namespace aoe {
namespace {

TEST(Proof, SoManyBlocksMustAgree) {
  // Wealth is 1.76^agreeing * 0.24^others, and 200 is asked for.
  struct Case {
    size_t n;
    size_t agreeing;
  };
  for (const auto& [n, agreeing] :
       {Case{1, 4}, {9, 10}, {10, 10}, {12, 12}, {13, 12}, {17, 15}, {20, 17}, {24, 20}}) {
    const size_t found = required_agreeing_blocks(n, 0.005);
    if (agreeing > n) EXPECT_GT(found, n) << n;
    else EXPECT_EQ(found, agreeing) << n;
  }
  for (const double error : {0.05, 0.005, 1e-3, 1e-4, 1e-6}) {
    const size_t fewest = fewest_blocks(error);
    EXPECT_EQ(required_agreeing_blocks(fewest, error), fewest);
    EXPECT_GT(required_agreeing_blocks(fewest - 1, error), fewest - 1);
    const size_t most = most_blocks(error);
    EXPECT_EQ(required_agreeing_blocks(most, error), most - 4);
    EXPECT_GT(required_agreeing_blocks(most - 1, error), most - 1 - 4);
  }
  EXPECT_EQ(most_blocks(0.005), 24u);
}

TEST(ErrorBudget, IsNeverExceeded) {
  ErrorBudget budget;
  double spent = 0;
  double last = 1;
  for (int claim = 0; claim < 100000; ++claim) {
    const double error = budget.next();
    EXPECT_LT(error, last);
    spent += last = error;
  }
  EXPECT_LT(spent, ErrorBudget::kJobError);
  EXPECT_GT(spent, 0.999 * ErrorBudget::kJobError);
  // Claims that another part of the job has made are not made again.
  ErrorBudget all;
  all.next();
  EXPECT_EQ(ErrorBudget(1).next(), all.next());
}

TEST(Proof, DecidesWhenItCan) {
  const auto blocks = [](size_t above, size_t below) {
    std::vector<double> values(below, 1.0);
    values.insert(values.end(), above, 1.05);
    return values;
  };
  struct Case {
    size_t above;
    size_t below;
    ProofDecision decision;
  };
  const Case cases[] = {
      {0, 0, ProofDecision::undecided},  {9, 0, ProofDecision::undecided},
      {10, 0, ProofDecision::accepted},  {11, 1, ProofDecision::undecided},
      {12, 1, ProofDecision::accepted},  {0, 4, ProofDecision::undecided},
      {0, 5, ProofDecision::rejected},  // of 24, 19 more would not do
      {19, 4, ProofDecision::undecided}, {20, 4, ProofDecision::accepted},
      {19, 5, ProofDecision::rejected},  {1, 23, ProofDecision::rejected},
  };
  for (const Case& c : cases) {
    EXPECT_EQ(proof_of(blocks(c.above, c.below)).decision, c.decision) << c.above << " " << c.below;
  }
  // 2 % are a proof of more than 1 %, not of more than 3 %.
  const std::vector<double> two_percent(24, 1.02);
  EXPECT_EQ(proof_of(two_percent).decision, ProofDecision::accepted);
  EXPECT_EQ(proof_of(two_percent, {.margin = 0.03}).decision, ProofDecision::rejected);
}

TEST(Proof, ABlockIsTheMiddleOfItsPairs) {
  EXPECT_DOUBLE_EQ(block_speed_up({{2, 20, 200}}, {{1, 10, 1}}), 2);
  EXPECT_DOUBLE_EQ(block_speed_up({{2, 8}}, {{1, 1}}), 4);
}

// Decisions are final: a later look never widens the interval or revokes a proof.
TEST(Proof, BoundsOnlyNarrow) {
  NoisyMachine machine({}, 1);
  std::vector<double> speed_ups;
  Interval before{1, 0, INFINITY};
  for (int i = 0; i < 40; ++i) {
    const auto block = machine.block(20, 1.03);
    speed_ups.push_back(block_speed_up(block.baseline_ns, block.candidate_ns));
    const Interval now = proof_of(speed_ups).speed_up;
    EXPECT_GE(now.low, before.low);
    EXPECT_LE(now.high, before.high);
    before = now;
  }
  EXPECT_GT(before.low, 1);
  EXPECT_LT(before.high, 1.06);
}

struct Rates {
  double accepted = 0;
  double missed = 0;  // intervals that did not contain the true value at the last look
  double blocks = 0;  // on average
};

Rates rates_of(const Noise& noise, double speed_up, int trials, const ProofOptions& options = {}) {
  Rates rates;
  for (int trial = 0; trial < trials; ++trial) {
    NoisyMachine machine(noise, static_cast<uint32_t>(trial));
    std::vector<double> speed_ups;
    Proof proof;
    while (proof.decision == ProofDecision::undecided) {
      const auto block = machine.block(25, speed_up);
      speed_ups.push_back(block_speed_up(block.baseline_ns, block.candidate_ns));
      proof = proof_of(speed_ups, options);
    }
    rates.accepted += proof.decision == ProofDecision::accepted ? 1 : 0;
    rates.missed += proof.speed_up.low > speed_up || proof.speed_up.high < speed_up ? 1 : 0;
    rates.blocks += static_cast<double>(speed_ups.size());
  }
  return {rates.accepted / trials, rates.missed / trials, rates.blocks / trials};
}

constexpr Noise kQuiet{.placement = 0.004, .jitter = 0.005, .drift = 0.005, .burst_chance = 0.005};
constexpr Noise kUsual{};
constexpr Noise kWild{.placement = 0.03, .jitter = 0.05, .drift = 0.05, .burst_chance = 0.1};

// For any noise, and for the worst case: a true speed-up equal to the margin.
TEST(Proof, SeldomErrs) {
  for (const Noise& noise : {kQuiet, kUsual, kWild}) {
    const Rates same = rates_of(noise, 1, 2000);
    EXPECT_LE(same.accepted, 0.002);
    const Rates margin = rates_of(noise, 1 + kMargin, 2000);
    EXPECT_LE(margin.accepted, 0.0085);  // 0.005, and two and a half standard deviations
    EXPECT_LE(margin.missed, 0.015);
    const Rates slower = rates_of(noise, 0.95, 500);
    EXPECT_EQ(slower.accepted, 0);
  }
}

TEST(Proof, IsNotBlind) {
  EXPECT_GE(rates_of(kQuiet, 1.03, 500).accepted, 0.99);
  EXPECT_GE(rates_of(kUsual, 1.03, 500).accepted, 0.95);
  EXPECT_GE(rates_of(kUsual, 1.05, 500).accepted, 0.99);
  EXPECT_GE(rates_of(kWild, 1.10, 500).accepted, 0.95);
}

// Clear cases take few blocks, accepted or rejected.
TEST(Proof, EndsEarly) {
  EXPECT_LT(rates_of(kUsual, 1, 500).blocks, 8);
  EXPECT_LT(rates_of(kUsual, 1.10, 500).blocks, 11);
}

// The same test on coin flips, where counting paths gives the exact error rate, with a look after
// each of up to a thousand blocks.
TEST(Proof, KeepsItsErrorOverAllLooks) {
  for (const double error : {0.005, 0.05}) {
    std::vector<double> chance = {1};  // by number of heads: probability without a proof so far
    double proven = 0;
    for (size_t n = 1; n <= 1000; ++n) {
      std::vector<double> next(n + 1, 0);
      for (size_t heads = 0; heads < n; ++heads) {
        next[heads] += chance[heads] / 2;
        next[heads + 1] += chance[heads] / 2;
      }
      for (size_t heads = std::min(required_agreeing_blocks(n, error), n + 1); heads <= n;
           ++heads) {
        proven += next[heads];
        next[heads] = 0;
      }
      chance = std::move(next);
    }
    EXPECT_LE(proven, error);
    EXPECT_GE(proven, error / 2);
  }
}

}  // namespace
}  // namespace aoe

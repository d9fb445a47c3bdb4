#include "measure/statistics/carry_over.h"

#include <gtest/gtest.h>

#include <cmath>
#include <set>

namespace aoe {
namespace {

using Policies = std::vector<size_t>;

struct Outcome {
  Policies kept;
  size_t trials = 0;
};

// Runs trials until a decision; `speed_up` gives the true speed-up of a set of policies.
template <typename SpeedUp>
Outcome whole(size_t count, const SpeedUp& speed_up, size_t most_trials = 16) {
  std::vector<WholeTrial> trials;
  std::set<Policies> tried;
  for (;;) {
    const WholeStep step = next_whole(count, trials, most_trials);
    if (step.done) return {step.policies, trials.size()};
    EXPECT_TRUE(tried.insert(step.policies).second) << "tried twice";
    const std::vector<double> blocks(24, speed_up(step.policies));
    trials.push_back({step.policies, proof_of(blocks)});
  }
}

// The gains of policies add up.
auto sum_of(std::vector<double> gains) {
  return [gains = std::move(gains)](const Policies& policies) {
    double sum = 1;
    for (const size_t policy : policies) sum += gains[policy];
    return sum;
  };
}

TEST(TakeBack, KeepsAllThatIsProvenTogether) {
  // None of them could be proven separately.
  const Outcome outcome = whole(10, sum_of(std::vector<double>(10, 0.004)));
  EXPECT_EQ(outcome.kept.size(), 10);
  EXPECT_EQ(outcome.trials, 1);
}

TEST(TakeBack, TakesBackWhatCrashesHoweverFastItWas) {
  const Proof fast = proof_of(std::vector<double>(24, 1.1));
  const std::vector<WholeTrial> trials{{{0, 1}, fast, true}, {{0}, fast, true}, {{1}, fast}};
  const WholeStep step = next_whole(2, trials);
  EXPECT_TRUE(step.done);
  EXPECT_EQ(step.policies, Policies{1});
}

TEST(TakeBack, TakesBackWhatDoesHarm) {
  const Outcome outcome = whole(4, sum_of({0.05, -0.2, 0.04, 0.03}));
  EXPECT_EQ(outcome.kept, (Policies{0, 2, 3}));
}

TEST(TakeBack, TakesAllBackWhereNothingCarriesOver) {
  const Outcome outcome = whole(4, sum_of({0, 0, 0, 0}));
  EXPECT_TRUE(outcome.kept.empty());
  EXPECT_EQ(outcome.trials, 7);
  EXPECT_TRUE(whole(0, sum_of({})).kept.empty());
  EXPECT_EQ(whole(0, sum_of({})).trials, 0);
}

TEST(TakeBack, KeepsTheBetterOneOfTwoThatDoNotGoTogether) {
  const auto clash = [](const Policies& policies) {
    return policies.size() == 2 ? 0.9 : policies[0] == 0 ? 1.02 : 1.04;
  };
  EXPECT_EQ(whole(2, clash).kept, (Policies{1}));
}

// Each was proven in its place: a gain too small to be proven for the whole model is kept.
TEST(TakeBack, KeepsWhatGainsTooLittleToBeProvenOfTheWhole) {
  const auto little = [](const Policies&) { return 1.005; };
  ASSERT_NE(proof_of(std::vector<double>(24, 1.005)).decision, ProofDecision::accepted);
  const Outcome outcome = whole(3, little);
  EXPECT_EQ(outcome.kept.size(), 3);
  EXPECT_EQ(outcome.trials, 1);
}

TEST(TakeBack, NothingIsKeptThatLoses) {
  const Outcome outcome = whole(64, sum_of(std::vector<double>(64, -0.01)), 5);
  EXPECT_TRUE(outcome.kept.empty());
  EXPECT_EQ(outcome.trials, 5);
  EXPECT_TRUE(whole(4, sum_of({0.1, -0.4, 0.1, 0.1}), 1).kept.empty());
}

}  // namespace
}  // namespace aoe

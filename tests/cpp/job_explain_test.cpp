#include <gtest/gtest.h>

#include "measure/statistics/proof.h"
#include "tests/cpp/fake_runner.h"

namespace aoe {
namespace {

// A machine on which only the loop order of a product (rows or columns first) matters, and the
// opposite of the default is faster.
class MachineOfOrder : public FakeRunner {
 public:
  MachineOfOrder() : FakeRunner({}) {}
  double factor(const Candidate& candidate) const override {
    const std::string& before = opened().workloads[static_cast<size_t>(candidate.workload)].policy;
    const auto has = [](const std::string& policy, const char* order) {
      return policy.find(order) != std::string::npos;
    };
    const auto turned = [&](const char* from, const char* to) {
      return has(before, from) && has(candidate.choice, to);
    };
    return turned("first=rows", "first=columns") || turned("first=columns", "first=rows") ? 0.75
                                                                                          : 1;
  }
};

TEST(Job, FindsTheDecisionThatMatters) {
  MachineOfOrder runner;
  const JobResult result = tuned_operators(runner, {});
  ASSERT_EQ(result.accepted.size(), 1u);
  ASSERT_TRUE(result.accepted[0].why);
  const Explanation& why = *result.accepted[0].why;
  ASSERT_FALSE(why.decisions.empty());
  EXPECT_EQ(why.decisions[0].decision, "columns first");
  EXPECT_NE(why.decisions[0].before, why.decisions[0].after);
  EXPECT_NEAR(*why.decisions[0].loss, 1 / 0.75 - 1, 0.03);
  for (size_t i = 1; i < why.decisions.size(); ++i) EXPECT_LT(why.decisions[i].loss, 0.03);
  // 48 x 64 x 80 multiplications and additions in 50 us, of 100 GFLOP/s.
  EXPECT_TRUE(why.after.by_operations);
  EXPECT_NEAR(why.before.share, 2 * 48 * 64 * 80 / 5e4 / 100, 0.02);
  EXPECT_NEAR(why.after.share / why.before.share, 1 / 0.75, 0.05);
}

// A machine whose time budget for proofs ends with the last block that a clear gain needs, or
// `missing` blocks before it.
class LateMachine : public FakeRunner {
 public:
  explicit LateMachine(size_t missing = 0) : FakeRunner({}) {
    ErrorBudget errors;  // of the claims about both workloads
    for (int claim = 0; claim < 2; ++claim) blocks_left_ = fewest_blocks(errors.next()) - missing;
  }
  Answer ask(const Request& request) override {
    Answer done = FakeRunner::ask(request);
    EXPECT_TRUE(blocks_left_ > 0 || request.measure.fresh) << "explained though time is out";
    if (request.measure.fresh && blocks_left_ > 0) --blocks_left_;
    done.elapsed_s = blocks_left_ > 0 ? 10 : 75;
    return done;
  }

 private:
  size_t blocks_left_ = 1;
};

TEST(Job, ExplainsNothingWhenTimeIsOut) {
  LateMachine runner;
  const JobResult result = tuned_operators(runner, {.budget_s = 100});
  ASSERT_EQ(result.accepted.size(), 2u);
  for (const Accepted& one : result.accepted) {
    ASSERT_TRUE(one.why);
    EXPECT_TRUE(one.why->decisions.empty());
    EXPECT_GT(one.why->after.share, one.why->before.share);
  }
}

TEST(Job, NamesConfirmationsThatTheEndOfTimeLeftUndecided) {
  LateMachine runner(3);
  const JobResult result = tuned_operators(runner, {.budget_s = 100});
  EXPECT_TRUE(result.accepted.empty());
  EXPECT_EQ(result.chosen, 2u);
  ASSERT_EQ(result.undecided.size(), 2u);
  for (const JobResult::Undecided& one : result.undecided) EXPECT_GT(one.speed_up, 1.01);
}

}  // namespace
}  // namespace aoe

#include <gtest/gtest.h>

#include <map>
#include <set>

#include "tests/cpp/fake_runner.h"

namespace aoe {
namespace {

// A machine on which the time of a candidate depends on its workload and on how many candidates of
// that workload were compiled before it, by functions that a test gives.
class OrderedMachine : public FakeRunner {
 public:
  using Factor = std::function<double(int workload, size_t before)>;

  explicit OrderedMachine(const Factor& truth, const Factor& first_sight = nullptr)
      : FakeRunner({}), truth_(truth), first_sight_(first_sight ? first_sight : truth) {}

  double factor(const Candidate& candidate) const override { return by(truth_, candidate); }
  double factor_at_first_sight(const Candidate& candidate) const override {
    return by(first_sight_, candidate);
  }
  Answer ask(const Request& request) override {
    for (const Candidate& one : request.compile) {
      const auto [at, added] = order_.try_emplace(one);
      if (added) at->second = compiled_[one.workload]++;
    }
    // Candidates that are compiled without passes are not samples: the first of a round, or a
    // winner without a decision.
    if (!request.compile.empty() && !request.measure.passes.empty()) last_sampled_s_ = elapsed_s();
    if (request.measure.fresh) {
      for (const Candidate& one : request.measure.candidates) {
        const bool is_twin =
            one.choice == opened_.workloads[static_cast<size_t>(one.workload)].policy;
        if (!is_twin) confirmed_.insert(one);
      }
    }
    return FakeRunner::ask(request);
  }

  size_t compiled(int workload) const { return compiled_.at(workload); }
  double last_sampled_s() const { return last_sampled_s_; }
  // Number of candidates of a workload that took part in a confirmation or in the whole model.
  size_t confirmed(int workload) const {
    return static_cast<size_t>(
        std::count_if(confirmed_.begin(), confirmed_.end(),
                      [&](const Candidate& one) { return one.workload == workload; }));
  }

 private:
  double by(const Factor& factor, const Candidate& one) const {
    return factor(one.workload, order_.at(one));
  }

  Factor truth_, first_sight_;
  std::map<Candidate, size_t> order_;
  std::map<int, size_t> compiled_;
  std::set<Candidate> confirmed_;
  double last_sampled_s_ = 0;
};

struct Told {
  double elapsed_s = 0;
  Accepted accepted;
};

struct Course {
  JobResult result;
  std::vector<Told> told;
};

Course course_of(OrderedMachine& runner, const JobOptions& options) {
  Course course;
  JobCalls calls;
  calls.proven = [&](const Accepted& one) { course.told.push_back({runner.elapsed_s(), one}); };
  double share = 0;
  calls.display = [&](const JobProgress& progress) {
    EXPECT_GE(progress.share, share);
    EXPECT_LE(progress.share, 1);
    share = progress.share;
  };
  course.result = tuned_operators(runner, options, calls);
  return course;
}

// The same factor for all candidates but the baseline.
OrderedMachine::Factor always(double factor) {
  return [factor](int, size_t before) { return before == 0 ? 1 : factor; };
}

TEST(JobRounds, AFirstGainIsProvenLongBeforeTheSearchEnds) {
  for (const double budget : {100.0, std::numeric_limits<double>::infinity()}) {
    OrderedMachine runner(always(0.8));
    const Course course = course_of(runner, {.samples = 160, .least_gain = 0, .budget_s = budget});
    ASSERT_EQ(course.told.size(), 2u);
    EXPECT_LE(course.told[0].elapsed_s, 24);
    EXPECT_GT(runner.last_sampled_s(), course.told[1].elapsed_s + 10);
    EXPECT_EQ(course.result.accepted.size(), 2u);
  }
}

TEST(JobRounds, ALaterPolicyThatIsBetterTakesTheProvenOnesPlace) {
  OrderedMachine runner([](int workload, size_t before) {
    if (before == 0) return 1.0;
    return workload == 1 && before > 100 ? 0.7 : 0.85;
  });
  const Course course = course_of(runner, {.least_gain = 0, .budget_s = 80});
  ASSERT_EQ(course.told.size(), 3u);
  EXPECT_EQ(course.told[2].accepted.candidate.workload, 1);
  ASSERT_EQ(course.result.accepted.size(), 2u);
  for (const Accepted& one : course.result.accepted) {
    EXPECT_EQ(runner.factor(one.candidate), one.candidate.workload == 1 ? 0.7 : 0.85);
    // Gains are relative to the baseline.
    EXPECT_NEAR(one.gain.after_ns / one.gain.before_ns, one.candidate.workload == 1 ? 0.7 : 0.85,
                0.02);
  }
}

TEST(JobRounds, ALaterPolicyThatIsWorseDoesNot) {
  // The later ones look better when screened and beat the baseline, but not the proven policy.
  const auto truth = [](int, size_t before) { return before == 0 ? 1 : before > 100 ? 0.9 : 0.8; };
  const auto first_sight = [](int, size_t before) {
    return before == 0 ? 1 : before > 100 ? 0.6 : 0.8;
  };
  OrderedMachine runner(truth, first_sight);
  const Course course = course_of(runner, {.least_gain = 0, .budget_s = 80});
  EXPECT_EQ(course.told.size(), 2u);
  ASSERT_EQ(course.result.accepted.size(), 2u);
  for (const Accepted& one : course.result.accepted) {
    EXPECT_EQ(runner.factor(one.candidate), 0.8);
    EXPECT_EQ(runner.confirmed(one.candidate.workload), 1u);
  }
}

TEST(JobRounds, WhatWasRejectedIsNotConfirmedAgain) {
  // It looks better, in races too, but not in fresh processes.
  class NoisyMachine : public OrderedMachine {
   public:
    NoisyMachine() : OrderedMachine(always(0.9)) {}
    Answer ask(const Request& request) override {
      fresh_ = request.measure.fresh;
      for (const Candidate& one : request.measure.candidates) {
        const bool is_twin =
            one.choice == opened_.workloads[static_cast<size_t>(one.workload)].policy;
        if (fresh_ && !is_twin) ++blocks[one.choice];
      }
      return OrderedMachine::ask(request);
    }
    double factor(const Candidate& candidate) const override {
      return fresh_ ? 1 : OrderedMachine::factor(candidate);
    }
    std::map<std::string, size_t> blocks;  // blocks per candidate

   private:
    bool fresh_ = false;
  };
  NoisyMachine runner;
  const Course course = course_of(runner, {.least_gain = 0, .budget_s = 80});
  EXPECT_TRUE(course.told.empty());
  EXPECT_TRUE(course.result.accepted.empty());
  size_t most = 0;
  for (const auto& [policy, blocks] : runner.blocks) {
    EXPECT_LE(blocks, 40u) << policy;
    most = std::max(most, blocks);
  }
  EXPECT_GE(most, 5u);  // they were confirmed
}

TEST(JobRounds, SamplesGoWhereMoreIsToBeGained) {
  OrderedMachine runner([](int workload, size_t before) {
    return workload == 0 ? 1 + 0.001 * static_cast<double>(before)
                         : 0.4 + 0.6 / (1 + 0.02 * static_cast<double>(before));
  });
  course_of(runner, {.least_gain = 0, .budget_s = 100});
  EXPECT_GT(runner.compiled(1), 2 * runner.compiled(0));
}

TEST(JobRounds, AJobEndsWhenNoMoreIsToBeHad) {
  OrderedMachine runner(always(1.2));
  const Course course = course_of(runner, {.budget_s = 100000});
  EXPECT_LT(course.result.elapsed_s, 200);
  EXPECT_LT(course.result.expected_gain, 0.002);
  EXPECT_TRUE(course.result.accepted.empty());
  // A job that ends early reports a larger expected gain.
  OrderedMachine other(always(1.2));
  EXPECT_GT(course_of(other, {.budget_s = 12}).result.expected_gain, 0.002);
  // With a budget, the number of samples is not a limit.
  OrderedMachine third(always(1.2));
  EXPECT_GT(course_of(third, {.samples = 2, .least_gain = 0, .budget_s = 100}).result.tried, 100u);
}

TEST(JobRounds, SearchedIsWhatWasToBeTunedHoweverFarItCame) {
  for (const double budget : {0.5, 40.0}) {
    OrderedMachine runner(always(100));
    const JobResult result = course_of(runner, {.least_gain = 0, .budget_s = budget}).result;
    EXPECT_EQ(result.searched.size(), 2u) << budget;
  }
}

TEST(JobRounds, ProofsThatTakeLongWaitForTheLastRound) {
  class SlowMachine : public OrderedMachine {
   public:
    SlowMachine() : OrderedMachine(always(0.8)) {}
    double seconds(const Request& request) const override {
      return request.measure.fresh ? 5 : 0.5;
    }
    Answer ask(const Request& request) override {
      if (request.measure.fresh) fresh_s.push_back(elapsed_s());
      return OrderedMachine::ask(request);
    }
    std::vector<double> fresh_s;  // start time of each block
  };
  SlowMachine runner;
  const Course course = course_of(runner, {.least_gain = 0, .budget_s = 240});
  EXPECT_EQ(course.result.accepted.size(), 2u);
  EXPECT_LE(course.result.elapsed_s, 245);
  // One block, to see how long it takes.
  ASSERT_GE(runner.fresh_s.size(), 10u);
  EXPECT_LE(runner.fresh_s[0], 20);
  EXPECT_GT(runner.fresh_s[1], runner.last_sampled_s());
  EXPECT_GT(runner.last_sampled_s(), 50);
}

TEST(JobRounds, UndecidedProofContinuesInTheNextRound) {
  // One block in eight disagrees: the proof then takes 20 blocks, more than a first round has.
  class DividedMachine : public OrderedMachine {
   public:
    DividedMachine() : OrderedMachine(always(0.8)) {}
    Answer ask(const Request& request) override {
      if (request.measure.fresh) ++blocks;
      speaks_against_ = request.measure.fresh && blocks % 8 == 0;
      return OrderedMachine::ask(request);
    }
    double factor(const Candidate& candidate) const override {
      return speaks_against_ ? 1.2 : OrderedMachine::factor(candidate);
    }
    int blocks = 0;

   private:
    bool speaks_against_ = false;
  };
  DividedMachine runner;
  JobCalls calls;
  std::vector<int> told_after;
  calls.proven = [&](const Accepted&) { told_after.push_back(runner.blocks); };
  std::vector<JobProgress::Phase> phases;
  calls.display = [&](const JobProgress& now) {
    if (runner.blocks >= 20) return;
    if (phases.empty() || phases.back() != now.phase) phases.push_back(now.phase);
  };
  tuned_operators(runner, {.least_gain = 0, .budget_s = 80}, calls);
  EXPECT_EQ(told_after, (std::vector<int>{20, 20}));
  using enum JobProgress::Phase;
  phases.resize(4);
  EXPECT_EQ(phases, (std::vector{searching, racing, confirming, searching}));
}

}  // namespace
}  // namespace aoe

#include "tune/layouts/layout_job.h"

#include <gtest/gtest.h>

#include <random>

#include "plan/plan.h"
#include "plan/task_times.h"
#include "tests/cpp/small_networks.h"
#include "tests/cpp/temporary_folder.h"
#include "tune/model_layouts.h"
#include "tune/runner/journaled_runner.h"

namespace aoe {
namespace {

using End = LayoutResult::End;

// Returns whether the value between the two convolutions has a blocked layout.
bool is_blocked(const std::string& text) { return text.find(",6,6,16]") != text.npos; }

// A simulated machine: a copy takes 100 ns, a convolution 1 us, or `blocked_ns` in a blocked
// layout. A whole pass takes the sum of its tasks, times `blocked_model` if any of them is blocked.
class FakeLayouts : public Runner {
 public:
  struct Truth {
    double blocked_ns = 1000;
    double blocked_model = 1;  // an effect that timing tasks separately does not show
    int lost_after = 1000;     // number of requests answered before the process is lost
    double seconds = 0.5;      // duration of a request
    bool times_blocked = true;
  };

  explicit FakeLayouts(Truth truth) : truth_(truth) {}

  OpenedModel open() override {
    elapsed_s_ += truth_.seconds;
    OpenedModel opened;
    opened.workloads.push_back({.text = "one", .policy = "", .uses = 1, .baseline_ns = 1e5});
    opened.margin = 0.01;
    opened.noise_floor = 1.004;
    opened.elapsed_s = elapsed_s_;
    return opened;
  }

  Answer ask(const Request& request) override {
    if (++requests_ > truth_.lost_after) throw std::runtime_error("killed");
    EXPECT_TRUE(request.compile.empty());
    Answer done;
    for (const std::string& text : request.alone) {
      auto& rounds = done.alone_ns.emplace_back();
      if (is_blocked(text) && !truth_.times_blocked) continue;
      for (int round = 0; round < 5; ++round) rounds.push_back(task_ns(text) * noise());
    }
    EXPECT_TRUE(request.measure.passes.empty() || request.measure.fresh);
    for (const auto& [workloads, plan] : request.measure.passes) {
      EXPECT_EQ(workloads, std::vector<CandidateId>(1));
      const double ns =
          plan == CandidateId::baseline
              ? plan_ns("")
              : plan_ns(plan_choice(request.measure.candidates.at(index_of(plan))).times);
      done.measured.passes.push_back({ns * noise(), {}});
    }
    elapsed_s_ += truth_.seconds;
    done.elapsed_s = elapsed_s_;
    return done;
  }

  void record_decision(const std::string&, const std::string&) override {}

 private:
  double noise() { return std::exp(std::normal_distribution<double>(0, 0.002)(random_)); }

  double task_ns(const std::string& text) const {
    if (text.find("sum(") == text.npos) return 100;
    return is_blocked(text) ? truth_.blocked_ns : 1000;
  }
  double plan_ns(const std::string& times) const {
    Graph graph = two_convolutions();
    const Plan plan = plan_of(graph, host_device(), [&](const std::string&) {
      return times.empty() ? TaskCost() : measured_cost(host_device(), parse_task_times(times));
    });
    double ns = 0;
    bool any = false;
    for (const PlanStep& step : plan.steps) {
      if (!runs_task(step)) continue;
      const std::string text = to_string(step.task.workload);
      ns += task_ns(text);
      any = any || is_blocked(text);
    }
    return any ? ns * truth_.blocked_model : ns;
  }

  Truth truth_;
  std::mt19937_64 random_{7};
  int requests_ = 0;
  double elapsed_s_ = 0;
};

LayoutResult tuned(Runner& runner, const LayoutOptions& options = {}) {
  return tune_layouts(runner, two_convolutions(), host_device(), options);
}

std::string times_of(const LayoutResult& result) {
  return plan_choice(result.challenger.value().candidate).times;
}

bool any_is_blocked(const std::set<std::string>& texts) {
  return std::any_of(texts.begin(), texts.end(), is_blocked);
}

TEST(Layouts, EndWithTheLayoutThatIsFaster) {
  FakeLayouts runner({.blocked_ns = 200});
  const LayoutResult result = tuned(runner);
  ASSERT_EQ(result.end, End::accepted);
  EXPECT_TRUE(any_is_blocked(result.changed));
  EXPECT_GT(result.challenger->gain.speedup_low, 1.01);
  EXPECT_GT(result.challenger->gain.before_ns, result.challenger->gain.after_ns);
  EXPECT_EQ(result.challenger->gain.noise_floor, 1.004);
  EXPECT_GT(result.measured, 10u);
  EXPECT_GT(parse_task_times(times_of(result)).ns.size(), 10u);
  // As the baseline, these layouts are already the best.
  FakeLayouts again({.blocked_ns = 200});
  const LayoutResult baseline = tuned(again, {.baseline = times_of(result)});
  EXPECT_EQ(baseline.end, End::same);
  EXPECT_EQ(baseline.layouts, result.layouts);
}

TEST(Layouts, AreNotKeptWhereTheWholeModelIsNotFaster) {
  FakeLayouts runner({.blocked_ns = 200, .blocked_model = 10});
  const LayoutResult result = tuned(runner);
  EXPECT_EQ(result.end, End::rejected);
  EXPECT_TRUE(result.changed.empty());
  EXPECT_GT(result.challenger->gain.after_ns, result.challenger->gain.before_ns);
}

TEST(Layouts, AreNotThoseThatAreSlower) {
  FakeLayouts runner({.blocked_ns = 5000});
  const LayoutResult result = tuned(runner);
  EXPECT_GT(result.measured, 10u);
  EXPECT_FALSE(any_is_blocked(result.changed));
}

TEST(Layouts, AreNotSolvedFromHalfATask) {
  // Tasks are timed in one layout only: measured times are not mixed with estimates.
  FakeLayouts runner({.blocked_ns = 200, .times_blocked = false});
  const LayoutResult result = tuned(runner);
  EXPECT_FALSE(any_is_blocked(result.changed));
  EXPECT_NE(result.end, End::accepted);
}

TEST(Layouts, TakeTheirShareOfTheBudget) {
  FakeLayouts runner({.blocked_ns = 200, .seconds = 2});
  const LayoutResult result = tuned(runner, {.budget_s = 20});
  EXPECT_LE(result.elapsed_s, 0.3 * 20 + 2);
  EXPECT_NE(result.end, End::accepted);
  FakeLayouts slow({.blocked_ns = 200, .seconds = 100});
  EXPECT_EQ(tuned(slow, {.budget_s = 20}).end, End::unmeasured);
}

TEST(Layouts, AndOperatorsGainOneAfterTheOther) {
  const Gain first{300, 200, 1.4, 1.6, 1.01, 10};
  const Gain second{210, 105, 1.9, 2.1, 1.02, 20};
  const Gain both = combined_gain(first, second);
  EXPECT_DOUBLE_EQ(both.before_ns / both.after_ns, 3);
  EXPECT_EQ(both.before_ns, 300);
  EXPECT_DOUBLE_EQ(both.speedup_low, 1.4 * 1.9);
  EXPECT_DOUBLE_EQ(both.speedup_high, 1.6 * 2.1);
  EXPECT_EQ(both.noise_floor, 1.02);
  EXPECT_EQ(both.samples, 30);
}

TEST(Layouts, ComeToTheSameEndFromTheirJournal) {
  const TemporaryFolder folder;
  const auto file = folder.path() / "journal.db";
  LayoutResult whole;
  for (int kill = 0;; ++kill) {
    Journal journal(file, kill == 0 ? Journal::Start::fresh : Journal::Start::reload);
    JournaledRunner runner(journal, [&] {
      return std::make_unique<FakeLayouts>(
          FakeLayouts::Truth{.blocked_ns = 200, .lost_after = kill < 4 ? 7 : 1000});
    });
    try {
      whole = tuned(runner);
      break;
    } catch (const std::runtime_error& error) {
      ASSERT_STREQ(error.what(), "killed");
    }
  }
  EXPECT_EQ(whole.end, End::accepted);
  const std::vector<JournalEntry> entries = read_journal(file);
  Journal journal(file, Journal::Start::reload);
  JournaledRunner replayed(journal, []() -> std::unique_ptr<Runner> {
    ADD_FAILURE() << "something was measured";
    return nullptr;
  });
  const LayoutResult again = tuned(replayed);
  EXPECT_EQ(read_journal(file), entries);
  EXPECT_EQ(again.challenger->candidate, whole.challenger->candidate);
  EXPECT_EQ(again.challenger->gain, whole.challenger->gain);
  EXPECT_EQ(again.changed, whole.changed);
  EXPECT_EQ(again.elapsed_s, whole.elapsed_s);
}

}  // namespace
}  // namespace aoe

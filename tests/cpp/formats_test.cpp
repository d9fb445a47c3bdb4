#include "tune/formats.h"

#include <gtest/gtest.h>

#include <random>

#include "plan/plan.h"
#include "plan/task_times.h"
#include "tests/cpp/small_networks.h"
#include "tests/cpp/temporary_folder.h"
#include "tune/journaled_formats.h"
#include "tune/model_formats.h"

namespace aoe {
namespace {

using End = FormatResult::End;

// Whether the value between the two convolutions has its channels in blocks.
bool is_blocked(const std::string& text) { return text.find(",6,6,16]") != text.npos; }

// A machine of numbers: a copy takes 100 ns, a convolution a microsecond, or `blocked_ns` with
// channels in blocks; whole passes take what their tasks do, and `blocked_model` times that if any
// of them lies so.
class FakeFormats : public FormatMachine {
 public:
  struct Truth {
    double blocked_ns = 1000;
    double blocked_model = 1;  // what measuring tasks alone does not show
    int lost_after = 1000;     // requests that are answered
    double seconds = 0.5;      // of a request
    bool times_blocked = true;
  };

  explicit FakeFormats(Truth truth) : truth_(truth) {}

  FormatsOpened open() override { return {1e5, 0.01, 1.004, truth_.seconds}; }

  RoundsAlone rounds_alone(const std::vector<std::string>& workloads) override {
    ++requests;
    RoundsAlone rounds{{}, truth_.seconds};
    for (const std::string& text : workloads) {
      auto& own = rounds.ns.emplace_back();
      if (is_blocked(text) && !truth_.times_blocked) continue;
      for (int round = 0; round < 5; ++round) own.push_back(task_ns(text) * noise());
    }
    return rounds;
  }

  PlanPasses plans(const std::map<std::string, std::string>& graph_times,
                   const std::vector<bool>& order) override {
    if (++requests > truth_.lost_after) throw std::runtime_error("killed");
    PlanPasses passes{{}, truth_.seconds};
    const double own_ns = plan_ns("");
    const double rival_ns = plan_ns(graph_times.begin()->second);
    for (const bool rival : order) passes.ns.push_back((rival ? rival_ns : own_ns) * noise());
    return passes;
  }

  void decide(const std::string&, const std::string&) override {}

  int requests = 0;

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
};

FormatResult tuned(FormatMachine& machine, const FormatOptions& options = {}) {
  return tune_formats(machine, two_convolutions(), host_device(), options);
}

bool any_is_blocked(const std::set<std::string>& texts) {
  return std::any_of(texts.begin(), texts.end(), is_blocked);
}

TEST(Formats, EndWithTheLayoutThatIsFaster) {
  FakeFormats machine({.blocked_ns = 200});
  const FormatResult result = tuned(machine);
  ASSERT_EQ(result.end, End::accepted);
  EXPECT_TRUE(any_is_blocked(result.changed));
  EXPECT_GT(result.gain.speedup_low, 1.01);
  EXPECT_GT(result.gain.before_ns, result.gain.after_ns);
  EXPECT_EQ(result.gain.noise_floor, 1.004);
  EXPECT_GT(result.measured, 10u);
  EXPECT_GT(parse_task_times(result.times).ns.size(), 10u);
  // Once they stand, they are the best.
  FakeFormats again({.blocked_ns = 200});
  const FormatResult standing = tuned(again, {.standing = result.times});
  EXPECT_EQ(standing.end, End::same);
  EXPECT_EQ(standing.layouts, result.layouts);
}

TEST(Formats, AreNotKeptWhereTheWholeModelIsNotFaster) {
  FakeFormats machine({.blocked_ns = 200, .blocked_model = 10});
  const FormatResult result = tuned(machine);
  EXPECT_EQ(result.end, End::rejected);
  EXPECT_TRUE(result.changed.empty());
  EXPECT_GT(result.gain.after_ns, result.gain.before_ns);
}

TEST(Formats, AreNotThoseThatAreSlower) {
  FakeFormats machine({.blocked_ns = 5000});
  const FormatResult result = tuned(machine);
  EXPECT_GT(result.measured, 10u);
  EXPECT_FALSE(any_is_blocked(result.changed));
}

TEST(Formats, AreNotSolvedFromHalfATask) {
  // Of no task both ways are timed: what is measured of one is not held against an estimate.
  FakeFormats machine({.blocked_ns = 200, .times_blocked = false});
  const FormatResult result = tuned(machine);
  EXPECT_FALSE(any_is_blocked(result.changed));
  EXPECT_NE(result.end, End::accepted);
}

TEST(Formats, TakeTheirShareOfTheBudget) {
  FakeFormats machine({.blocked_ns = 200, .seconds = 2});
  const FormatResult result = tuned(machine, {.budget_s = 20});
  EXPECT_LE(result.elapsed_s, 0.3 * 20 + 2);
  EXPECT_NE(result.end, End::accepted);
  FakeFormats slow({.blocked_ns = 200, .seconds = 100});
  EXPECT_EQ(tuned(slow, {.budget_s = 20}).end, End::unmeasured);
}

TEST(Formats, AndOperatorsGainOneAfterTheOther) {
  const Gain first{300, 200, 1.4, 1.6, 1.01, 10};
  const Gain second{210, 105, 1.9, 2.1, 1.02, 20};
  const Gain both = in_a_row(first, second);
  EXPECT_DOUBLE_EQ(both.before_ns / both.after_ns, 3);
  EXPECT_EQ(both.before_ns, 300);
  EXPECT_DOUBLE_EQ(both.speedup_low, 1.4 * 1.9);
  EXPECT_DOUBLE_EQ(both.speedup_high, 1.6 * 2.1);
  EXPECT_EQ(both.noise_floor, 1.02);
  EXPECT_EQ(both.samples, 30);
}

TEST(Formats, ComeToTheSameEndFromTheirJournal) {
  const TemporaryFolder folder;
  const auto file = folder.path() / "journal.db";
  FormatResult whole;
  for (int kill = 0;; ++kill) {
    Journal journal(file, kill == 0 ? Journal::Start::fresh : Journal::Start::reload);
    JournaledFormats machine(journal, [&] {
      return std::make_unique<FakeFormats>(
          FakeFormats::Truth{.blocked_ns = 200, .lost_after = kill < 4 ? 7 : 1000});
    });
    try {
      whole = tuned(machine);
      break;
    } catch (const std::runtime_error& error) {
      ASSERT_STREQ(error.what(), "killed");
    }
  }
  EXPECT_EQ(whole.end, End::accepted);
  const std::vector<JournalEntry> entries = read_journal(file);
  Journal journal(file, Journal::Start::reload);
  JournaledFormats replayed(journal, []() -> std::unique_ptr<FormatMachine> {
    ADD_FAILURE() << "something was measured";
    return nullptr;
  });
  const FormatResult again = tuned(replayed);
  EXPECT_EQ(read_journal(file), entries);
  EXPECT_EQ(again.times, whole.times);
  EXPECT_EQ(again.gain, whole.gain);
  EXPECT_EQ(again.changed, whole.changed);
  EXPECT_EQ(again.elapsed_s, whole.elapsed_s);
}

}  // namespace
}  // namespace aoe

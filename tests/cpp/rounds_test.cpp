#include "measure/statistics/rounds.h"

#include <gtest/gtest.h>

#include <set>

#include "measure/statistics/intervals.h"

namespace aoe {
namespace {

// A fake clock that advances only in calls.
struct FakeRunner {
  double now_ns = 0;
  std::string log;

  std::function<void()> takes(char name, const std::function<double()>& ns) {
    return [this, name, ns] {
      now_ns += ns();
      if (log.empty() || log.back() != name)
        log += name;  // logs a turn once, however many calls it has
    };
  }
  std::vector<ParticipantTimes> measure(const std::vector<std::function<void()>>& participants,
                                        double seconds, std::vector<double>* shares = nullptr) {
    RoundsOptions options{.seconds = seconds, .clock = [this] { return now_ns; }};
    if (shares != nullptr) options.progress = [=](double share) { shares->push_back(share); };
    return measure_rounds(participants, options);
  }
};

TEST(Rounds, EveryParticipantHasATurnInEachRound) {
  FakeRunner machine;
  const auto turns = machine.measure(
      {machine.takes('a', [] { return 1e6; }), machine.takes('b', [] { return 3e6; })}, 1);
  ASSERT_EQ(turns.size(), 2u);
  EXPECT_EQ(turns[0].medians_ns.size(), turns[1].medians_ns.size());
  // One warm-up call and twelve counted calls of a, one and four of b: 28 ms per round.
  EXPECT_EQ(turns[0].medians_ns.size(), 36u);
  EXPECT_EQ(turns[0].calls, 36 * 12);
  EXPECT_EQ(turns[1].calls, 36 * 4);
  EXPECT_EQ(turns[0].minimum_ns, 1e6);
  EXPECT_EQ(turns[1].minimum_ns, 3e6);
  // Both orders occur: otherwise the names would always alternate.
  const size_t alternating = 2 + 2 * 36;
  EXPECT_LT(machine.log.size(), alternating);
}

TEST(Rounds, DriftCancelsInPairs) {
  FakeRunner machine;
  const auto slower = [&](double ns) {
    return [&, ns] { return ns * (1 + machine.now_ns / 1e9); };
  };
  const auto turns =
      machine.measure({machine.takes('a', slower(1e6)), machine.takes('b', slower(1.2e6))}, 1);
  const Interval ratio = ratio_of(turns[1].medians_ns, turns[0].medians_ns);
  EXPECT_NEAR(ratio.median, 1.2, 0.02);
  EXPECT_GT(turns[0].medians_ns.back(), 1.9 * turns[0].medians_ns.front());
}

TEST(Rounds, ShortCallsAreTimedTogether) {
  FakeRunner machine;
  int readings = 0;
  RoundsOptions options{.seconds = 0.1, .clock = [&] {
                          ++readings;
                          return machine.now_ns;
                        }};
  const auto turns = measure_rounds({machine.takes('a', [] { return 100.0; })}, options);
  EXPECT_GT(turns[0].calls, 900'000);
  EXPECT_LT(readings, 12'000);
  EXPECT_DOUBLE_EQ(turns[0].minimum_ns, 100);
}

TEST(Rounds, ThereAreEnoughForAnIntervalHoweverLongTheyTake) {
  struct Case {
    double call_ns;
    size_t rounds;
    int64_t calls;
  };
  for (const Case& c : {Case{200e6, 12, 12}, {2e9, 12, 12}, {10e9, kFewestValues, 8}}) {
    FakeRunner machine;
    std::vector<double> shares;
    const auto turns =
        machine.measure({machine.takes('a', [&] { return c.call_ns; })}, 0.5, &shares);
    EXPECT_EQ(turns[0].medians_ns.size(), c.rounds);
    EXPECT_EQ(turns[0].calls, c.calls);
    ASSERT_EQ(shares.size(), c.rounds);
    EXPECT_TRUE(std::is_sorted(shares.begin(), shares.end()));
    EXPECT_EQ(shares.back(), 1);
  }
}

}  // namespace
}  // namespace aoe

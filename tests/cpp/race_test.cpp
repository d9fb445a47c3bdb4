#include "measure/statistics/race.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "tests/cpp/noise.h"

namespace aoe {
namespace {

struct Outcome {
  std::vector<size_t> remaining;
  size_t rounds = 0;
  size_t turns = 0;
};

// Simulates a race of participants that take `ns` on a quiet machine; the first is the baseline.
Outcome raced(const std::vector<double>& ns, const Noise& noise, uint32_t seed) {
  NoisyMachine machine(noise, seed);
  std::mt19937 random(seed);
  std::vector<std::vector<double>> rounds;
  Outcome outcome;
  outcome.remaining.resize(ns.size());
  std::iota(outcome.remaining.begin(), outcome.remaining.end(), 0);
  for (bool over = false; !over;) {
    std::shuffle(outcome.remaining.begin(), outcome.remaining.end(), random);
    std::vector<double> round(ns.size(), 0);
    for (const size_t p : outcome.remaining) round[p] = machine.turn(ns[p]);
    outcome.turns += outcome.remaining.size();
    rounds.push_back(round);
    const Race race = race_of(rounds);
    outcome.remaining = race.remaining;
    over = race.over;
  }
  outcome.rounds = rounds.size();
  return outcome;
}

TEST(Race, KeepsTheBestAndDropsTheRest) {
  const std::vector<double> ns = {100, 90, 95, 97, 105, 120, 150, 101, 99, 110};
  int won = 0;
  int lost = 0;
  size_t turns = 0;
  constexpr int kTrials = 300;
  for (uint32_t seed = 0; seed < kTrials; ++seed) {
    const Outcome outcome = raced(ns, {}, seed);
    won += outcome.remaining.front() == 1 ? 1 : 0;
    const auto& in = outcome.remaining;
    lost += std::find(in.begin(), in.end(), 1) == in.end() ? 1 : 0;
    turns += outcome.turns;
  }
  EXPECT_GE(won, kTrials * 99 / 100);
  EXPECT_LE(lost, kTrials / 100);
  EXPECT_LT(turns / kTrials, 24 * ns.size() / 2);  // half of what all of them would take
}

TEST(Race, NeverDropsTheBaseline) {
  const Outcome outcome = raced({200, 100, 150}, {}, 3);
  EXPECT_EQ(outcome.remaining, (std::vector<size_t>{1, 0}));
  EXPECT_EQ(raced({100, 200, 150}, {}, 3).remaining, (std::vector<size_t>{0}));
}

// Of equal participants, any may win.
TEST(Race, SeldomDropsTheBest) {
  int dropped = 0;
  constexpr int kTrials = 300;
  for (uint32_t seed = 0; seed < kTrials; ++seed) {
    const Outcome outcome = raced({100, 100, 100, 100, 100}, {}, seed);
    const auto& in = outcome.remaining;
    dropped += std::find(in.begin(), in.end(), 1) == in.end() ? 1 : 0;
  }
  EXPECT_LE(dropped, kTrials * 5 / 100);
}

TEST(Race, OneTurnThatWentWrongDecidesNothing) {
  std::vector<std::vector<double>> rounds(10, {100, 90, 95});
  rounds[4][1] = 1000;
  const Race race = race_of(rounds);
  EXPECT_EQ(race.remaining.front(), 1);
  EXPECT_NEAR(race.speed_up[1], 100.0 / 90, 1e-12);
}

TEST(Race, WhoIsFarBehindIsOutAtOnce) {
  const std::vector<std::vector<double>> rounds(4, {100, 90, 95, 93});
  EXPECT_EQ(race_of(std::span(rounds).first(3)).remaining.size(), 4);
  const Race race = race_of(rounds);
  EXPECT_EQ(race.remaining, (std::vector<size_t>{1, 3, 0}));
  EXPECT_FALSE(race.over);
}

TEST(Race, WhoWasOutStaysOut) {
  std::vector<std::vector<double>> rounds(4, {100, 90, 91});
  rounds.push_back({100, 90, 0});
  const Race race = race_of(rounds);
  EXPECT_EQ(race.remaining, (std::vector<size_t>{1, 0}));
  EXPECT_TRUE(race.over);
  EXPECT_TRUE(race_of({}).remaining.empty());
}

}  // namespace
}  // namespace aoe

#include "tune/job/timetable.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <vector>

namespace aoe {
namespace {

struct Round {
  double began_s, searched_s, checked_s;
};

// Simulates the rounds of a job that searches in steps of half a second and whose checks take
// `checks_s`.
std::vector<Round> rounds(double budget_s, double opened_s, double checks_s, double most_s) {
  Timetable timetable(budget_s);
  timetable.begin(opened_s);
  std::vector<Round> all;
  for (double now = opened_s; timetable.search_goes_on(now) && now < most_s;) {
    const double began = now;
    while (timetable.round_goes_on(now)) now += 0.5;
    const double searched = now;
    const bool last = !timetable.search_goes_on(now);
    now += std::min(checks_s, std::max(timetable.allowed_checks_s(now, last), 0.0));
    timetable.record_checks(now - searched, now, checks_s);
    all.push_back({began, searched, now});
  }
  return all;
}

TEST(Timetable, TheFirstRoundIsShortAndEachFurtherOneTwiceAsLong) {
  const std::vector<Round> all = rounds(std::numeric_limits<double>::infinity(), 3, 4, 300);
  ASSERT_GE(all.size(), 4u);
  EXPECT_EQ(all[0].searched_s, 8);
  for (size_t i = 1; i < 4; ++i) {
    const double before = all[i - 1].searched_s - all[i - 1].began_s;
    EXPECT_NEAR(all[i].searched_s - all[i].began_s, 2 * before, 1);
  }
  // A model that takes long to open is searched nevertheless.
  EXPECT_NEAR(rounds(1000, 30, 4, 1000)[0].searched_s, 32.5, 0.5);
}

TEST(Timetable, KnowsThatARoundIsTheOnlyOne) {
  const auto is_only = [](double budget_s, double opened_s) {
    Timetable timetable(budget_s);
    timetable.begin(opened_s);
    return timetable.is_only_round();
  };
  EXPECT_TRUE(is_only(30, 3));
  EXPECT_FALSE(is_only(60, 3));
  EXPECT_TRUE(is_only(60, 20));  // opening the model took the time of further rounds
}

TEST(Timetable, ChecksDoNotEatTheSearchsTime) {
  const std::vector<Round> all = rounds(std::numeric_limits<double>::infinity(), 3, 60, 1000);
  for (size_t i = 1; i < all.size(); ++i) {
    EXPECT_GE(all[i].searched_s - all[i].began_s, 60 * 0.45 / 0.25);
  }
}

TEST(Timetable, ABudgetIsDividedBetweenSearchAndChecks) {
  for (const double budget : {10.0, 30.0, 60.0, 120.0, 1000.0}) {
    for (const double checks : {0.5, 10.0, 1000.0}) {
      const std::vector<Round> all = rounds(budget, 3, checks, 10000);
      double searched = 3;
      double early = 0;
      for (size_t i = 0; i < all.size(); ++i) {
        searched += all[i].searched_s - all[i].began_s;
        if (i + 1 < all.size()) early += all[i].checked_s - all[i].searched_s;
      }
      // If checks take long, the last ones get more time.
      EXPECT_LE(searched, 0.45 * budget + 0.5) << budget << " " << checks;
      EXPECT_GE(searched, (checks < 1 ? 0.45 : 0.3) * budget - 0.5) << budget << " " << checks;
      const double last = 0.7 * budget - all.back().searched_s;
      EXPECT_GE(last, std::min(0.23 * budget, checks) - 1) << budget << " " << checks;
      EXPECT_LE(early, 0.17 * budget + 0.01);
      EXPECT_LE(all.back().checked_s, 0.7 * budget + 0.5);
      Timetable timetable(budget);
      timetable.begin(3);
      EXPECT_EQ(all.size() == 1, timetable.is_only_round()) << budget;
      // Each round searches longer than the one before.
      for (size_t i = 2; i < all.size(); ++i) {
        EXPECT_GT(all[i].searched_s - all[i].began_s, all[i - 1].searched_s - all[i - 1].began_s);
      }
    }
  }
}

}  // namespace
}  // namespace aoe

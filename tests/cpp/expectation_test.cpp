#include "tune/job/expectation.h"

#include <gtest/gtest.h>

#include <limits>

namespace aoe {
namespace {

Expectation expectation(double part, const std::vector<double>& shares) {
  Expectation one(part);
  one.ask(shares.size());
  for (const double share : shares) one.learn(share);
  return one;
}

// Shares of a search that closes a gap at the typical rate.
std::vector<double> usual_shares(double gap, size_t samples) {
  std::vector<double> shares;
  for (size_t n = 1; n <= samples; ++n) {
    shares.push_back(1 - gap * (1 - gap_left(static_cast<double>(n))));
  }
  return shares;
}

TEST(Expectation, OfAGapLessAndLessIsLeft) {
  EXPECT_EQ(gap_left(0), 1);
  double before = 1;
  for (int n = 1; n < 1000; n *= 2) {
    EXPECT_LT(gap_left(n), before);
    before = gap_left(n);
  }
  // Between the gym's results for genetic and tree search.
  EXPECT_NEAR(gap_left(16), 0.35, 0.2);
  EXPECT_NEAR(gap_left(48), 0.08, 0.08);
}

TEST(Expectation, TheGapIsSeenFromHowTheBestMoves) {
  EXPECT_NEAR(Expectation(1).gap(), 0.1, 1e-9);
  for (const double gap : {0.05, 0.1, 0.4}) {
    EXPECT_NEAR(expectation(1, usual_shares(gap, 32)).gap(), gap, 0.6 * gap);
  }
  // The best share does not improve until the last sample; a failed sample does not count.
  std::vector<double> shares(32, 1.2);
  const double still = expectation(1, shares).gap();
  EXPECT_LT(still, 0.05);
  shares.back() = std::numeric_limits<double>::infinity();
  EXPECT_EQ(expectation(1, shares).gap(), still);
  shares.back() = 0.9;
  EXPECT_GT(expectation(1, shares).gap(), 2 * still);
  // An early improvement says nothing about the remaining gap.
  shares.assign(32, 1.2);
  shares[3] = 0.5;
  EXPECT_EQ(expectation(1, shares).gap(), still);
}

TEST(Expectation, SavesLessTheMoreSamplesThereWere) {
  double before = 1;
  for (const size_t samples : {0, 8, 32, 128, 512}) {
    const double saving = expectation(0.5, usual_shares(0.2, samples)).saving(0, 16);
    EXPECT_GT(saving, 0);
    EXPECT_LT(saving, before);
    before = saving;
  }
  const Expectation one = expectation(0.5, {0.9, 0.8});
  EXPECT_NEAR(one.saving(0, 8) + one.saving(8, 20), one.saving(0, 20), 1e-12);
  EXPECT_LT(one.saving(0, 1000000), 0.5 * one.gap());
  // Requested samples count as taken.
  Expectation asked = one;
  asked.ask(8);
  EXPECT_NEAR(asked.saving(0, 12), one.saving(8, 20), 1e-12);
  asked.close();
  EXPECT_EQ(asked.saving(0, 12), 0);
}

TEST(Expectation, SamplesAreAllottedWhereTheySaveMost) {
  const Expectation moves = expectation(0.3, usual_shares(0.4, 8));
  const Expectation stands = expectation(0.3, std::vector<double>(8, 1.1));
  const Expectation small = expectation(0.003, usual_shares(0.4, 8));
  const std::vector<const Expectation*> all{&stands, &moves, &small};
  const Allotment few = allocate_samples(all, 16, 4);
  EXPECT_EQ(few.samples[1], 4u);
  EXPECT_EQ(few.samples[0], 4u);
  EXPECT_EQ(few.samples[2], 4u);  // none is left for the others
  const Allotment many = allocate_samples(all, 40, 40);
  EXPECT_GT(many.samples[1], 3 * many.samples[0]);
  EXPECT_EQ(many.samples[2], 0u);
  EXPECT_NEAR(many.saving, moves.saving(0, many.samples[1]) + stands.saving(0, many.samples[0]),
              1e-12);
  // Large allotments are assigned in larger steps, with about the same result.
  const Allotment strides = allocate_samples(all, 2000, 2000);
  EXPECT_GT(strides.saving, many.saving);
  EXPECT_LT(strides.saving, 0.3 * (moves.gap() + stands.gap()) + 0.003 * small.gap());
  EXPECT_EQ(allocate_samples({}, 16, 4).saving, 0);
}

}  // namespace
}  // namespace aoe

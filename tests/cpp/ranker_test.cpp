#include "search/ranker.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>

namespace aoe {
namespace {

using Random = std::mt19937_64;

// A time that depends mainly on one feature and a little on another.
double share_of(const std::vector<float>& row) {
  return std::exp2(0.5 * std::abs(row[0] - 3) + 0.1 * row[1]);
}

std::vector<std::vector<float>> some_rows(uint64_t seed, int count) {
  Random random(seed);
  std::vector<std::vector<float>> rows;
  for (int i = 0; i < count; ++i) {
    rows.push_back({static_cast<float>(random() % 8), static_cast<float>(random() % 4),
                    static_cast<float>(random() % 5), 1});
  }
  return rows;
}

TEST(Ranker, LearnsAnOrderAndTheSameOneEachTime) {
  Ranker ranker, again;
  EXPECT_EQ(ranker.expected(some_rows(2, 3)), std::vector<double>(3, 0.0));
  for (const auto& row : some_rows(1, 60)) {
    ranker.add(row, share_of(row));
    again.add(row, share_of(row));
  }
  const auto rows = some_rows(2, 100);
  const std::vector<double> expected = ranker.expected(rows);
  int right = 0, pairs = 0;
  for (size_t i = 0; i < rows.size(); ++i) {
    for (size_t k = 0; k < i; ++k) {
      if (std::abs(std::log2(share_of(rows[i]) / share_of(rows[k]))) < 0.3) continue;
      ++pairs;
      right += (expected[i] < expected[k]) == (share_of(rows[i]) < share_of(rows[k])) ? 1 : 0;
    }
  }
  EXPECT_GT(right, 0.95 * pairs);
  EXPECT_EQ(again.expected(rows), expected);
}

TEST(Ranker, TakesFailuresForSlowOnes) {
  Ranker ranker;
  for (const auto& row : some_rows(1, 40)) {
    ranker.add(row, row[0] < 4 ? 1 : std::numeric_limits<double>::infinity());
  }
  const std::vector<double> expected = ranker.expected({{1, 1, 1, 1}, {6, 1, 1, 1}});
  EXPECT_LT(expected[0] + 1, expected[1]);
}

TEST(Ranker, SaysNothingWhereNothingDiffers) {
  Ranker ranker;
  for (int i = 0; i < 10; ++i) ranker.add({1, 2}, 1 + 0.1 * i);
  EXPECT_EQ(ranker.expected({{1, 2}, {3, 4}}), std::vector<double>(2, 0.0));
}

}  // namespace
}  // namespace aoe

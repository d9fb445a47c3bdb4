#include "plan/arena.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

namespace aoe {
namespace {

bool meet(const Lifetime& a, const Lifetime& b) { return a.first <= b.last && b.first <= a.last; }

// Returns the maximum of simultaneously live bytes, a lower bound of every arena.
int64_t most_at_once(const std::vector<Lifetime>& lifetimes) {
  int64_t most = 0;
  for (const Lifetime& moment : lifetimes) {
    int64_t sum = 0;
    for (const Lifetime& l : lifetimes) {
      if (l.first <= moment.first && moment.first <= l.last) {
        sum += (l.bytes + kArenaAlignment - 1) / kArenaAlignment * kArenaAlignment;
      }
    }
    most = std::max(most, sum);
  }
  return most;
}

void expect_apart(const std::vector<Lifetime>& lifetimes, const Arena& arena) {
  ASSERT_EQ(arena.offsets.size(), lifetimes.size());
  for (size_t i = 0; i < lifetimes.size(); ++i) {
    EXPECT_EQ(arena.offsets[i] % kArenaAlignment, 0);
    EXPECT_GE(arena.offsets[i], 0);
    EXPECT_LE(arena.offsets[i] + lifetimes[i].bytes, arena.bytes);
    for (size_t j = 0; j < i; ++j) {
      if (!meet(lifetimes[i], lifetimes[j])) continue;
      EXPECT_TRUE(arena.offsets[i] + lifetimes[i].bytes <= arena.offsets[j] ||
                  arena.offsets[j] + lifetimes[j].bytes <= arena.offsets[i])
          << i << " and " << j;
    }
  }
}

TEST(Arena, IsAsSmallAsItCanBeWhereThatIsKnown) {
  const struct {
    std::vector<Lifetime> lifetimes;
    int64_t bytes;
  } cases[] = {
      {{}, 0},
      {{{0, 0, 9}}, 0},
      {{{1, 0, 0}}, 64},
      // A chain: each is read by the next one only.
      {{{128, 0, 1}, {128, 1, 2}, {128, 2, 3}, {128, 3, 4}}, 256},
      // A residual stays while others come and go.
      {{{640, 0, 3}, {64, 0, 1}, {64, 1, 2}, {64, 2, 3}}, 768},
      // All at once.
      {{{64, 0, 0}, {64, 0, 0}, {64, 0, 0}}, 192},
      // Later ones reuse the space of the first.
      {{{256, 0, 0}, {128, 1, 1}, {128, 1, 1}}, 256},
      // Reuses the gap between two.
      {{{256, 0, 5}, {128, 0, 2}, {64, 0, 5}, {128, 3, 5}}, 448},
  };
  for (const auto& [lifetimes, bytes] : cases) {
    const Arena arena = arena_of(lifetimes);
    EXPECT_EQ(arena.bytes, bytes);
    expect_apart(lifetimes, arena);
  }
}

TEST(Arena, KeepsApartWhatIsAliveTogether) {
  std::mt19937 random(1);
  const auto below = [&](int n) { return static_cast<int>(random() % static_cast<unsigned>(n)); };
  double worst = 0;
  for (int again = 0; again < 200; ++again) {
    const int count = 1 + below(60);
    std::vector<Lifetime> lifetimes;
    for (int i = 0; i < count; ++i) {
      const int first = below(40);
      lifetimes.push_back({int64_t{1} << below(16), first, first + below(8)});
    }
    const Arena arena = arena_of(lifetimes);
    expect_apart(lifetimes, arena);
    const int64_t least = most_at_once(lifetimes);
    EXPECT_GE(arena.bytes, least);
    worst = std::max(worst, static_cast<double>(arena.bytes) / static_cast<double>(least));
  }
  // The greedy heuristic is not optimal, but close.
  EXPECT_LT(worst, 1.5);
}

}  // namespace
}  // namespace aoe

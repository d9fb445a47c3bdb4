#include "base/parallel.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <stdexcept>
#include <thread>
#include <vector>

namespace aoe {
namespace {

// Number of visits of each of `count` positions.
std::vector<int> met(int64_t count, int64_t grain, int threads) {
  std::vector<std::atomic<int>> times(static_cast<size_t>(count));
  parallel_for(count, grain, threads, [&](int64_t first, int64_t last, int) {
    for (int64_t i = first; i < last; ++i) ++times[static_cast<size_t>(i)];
  });
  return {times.begin(), times.end()};
}

TEST(ParallelFor, MeetsEveryPositionOnce) {
  for (const int threads : {1, 2, 3, 9}) {
    for (const int64_t grain : {1, 3, 100}) {
      for (const int64_t count : {0, 1, 2, 64, 101}) {
        EXPECT_EQ(met(count, grain, threads), std::vector<int>(static_cast<size_t>(count), 1));
        const HelpersAwake awake(threads);
        for (int again = 0; again < 20; ++again) {
          ASSERT_EQ(met(count, grain, threads), std::vector<int>(static_cast<size_t>(count), 1));
        }
      }
    }
  }
}

TEST(ParallelFor, UsesOtherThreads) {
  const HelpersAwake awake(2);
  std::atomic<int> inside{0};
  // Each part waits for the other: a single thread would wait forever.
  parallel_for(2, 1, 2, [&](int64_t, int64_t, int) {
    ++inside;
    while (inside < 2) std::this_thread::yield();
  });
  EXPECT_EQ(inside, 2);
}

TEST(ParallelFor, NumbersItsWorkers) {
  constexpr int kThreads = 3;
  const HelpersAwake awake(kThreads);
  std::atomic<int> inside[kThreads] = {};
  std::atomic<int> shared{0};
  parallel_for(1000, 1, kThreads, [&](int64_t, int64_t, int worker) {
    ASSERT_TRUE(worker >= 0 && worker < kThreads);
    if (inside[worker]++ != 0) ++shared;
    --inside[worker];
  });
  EXPECT_EQ(shared, 0);
}

TEST(ParallelFor, ThrowsWhatAPartThrew) {
  const HelpersAwake awake(3);
  for (int64_t bad = 0; bad < 8; ++bad) {
    EXPECT_THROW(parallel_for(8, 1, 3,
                              [&](int64_t first, int64_t last, int) {
                                if (first <= bad && bad < last) throw std::runtime_error("bad");
                              }),
                 std::runtime_error);
    EXPECT_EQ(met(50, 1, 3), std::vector<int>(50, 1));
  }
}

TEST(ParallelFor, MayBeNestedAndCalledByManyAtOnce) {
  std::vector<std::jthread> callers;
  std::atomic<int64_t> sum{0};
  for (int caller = 0; caller < 4; ++caller) {
    callers.emplace_back([&] {
      const HelpersAwake awake(2);
      for (int again = 0; again < 100; ++again) {
        parallel_for(4, 1, 2, [&](int64_t, int64_t, int) {
          parallel_for(8, 1, 2, [&](int64_t first, int64_t last, int) { sum += last - first; });
        });
      }
    });
  }
  callers.clear();
  EXPECT_EQ(sum, 4 * 100 * 4 * 8);
}

TEST(ParallelFor, WorksInAForkedProcess) {
  EXPECT_EQ(met(10, 1, 2), std::vector<int>(10, 1));
  const pid_t child = fork();
  if (child == 0) {
    alarm(20);
    _exit(met(10, 1, 2) == std::vector<int>(10, 1) ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

}  // namespace
}  // namespace aoe

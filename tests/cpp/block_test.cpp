#include "measure/statistics/block.h"

#include <gtest/gtest.h>

#include <string>

#include "measure/statistics/proof.h"

namespace aoe {
namespace {

// A fake clock that advances only in calls.
struct FakeRunner {
  double now_ns = 0;
  double slowness = 1;
  std::string log;

  std::function<void()> takes(char name, double ns) {
    return [this, name, ns] {
      now_ns += ns * slowness;
      slowness *= 1.001;  // ever slower
      log += name;
    };
  }
  BlockOptions options() {
    return {.clock = [this] { return now_ns; }};
  }
};

TEST(Block, TakesTurnsInRandomOrder) {
  FakeRunner machine;
  const Block block =
      measure_block(machine.takes('a', 300e3), machine.takes('b', 250e3), machine.options());
  ASSERT_EQ(block.baseline_ns.size(), block.candidate_ns.size());
  EXPECT_GE(block.spent_ns, 80e6);
  EXPECT_LT(block.spent_ns, 82e6);
  EXPECT_NEAR(block_speed_up(block.baseline_ns, block.candidate_ns), 1.2, 0.003);
  const std::string turns = machine.log.substr(4);
  size_t switched = 0;
  for (size_t i = 0; i < turns.size(); i += 2) {
    EXPECT_NE(turns[i], turns[i + 1]);
    if (turns[i] == 'b') ++switched;
  }
  EXPECT_GT(switched, turns.size() / 8);
  EXPECT_LT(switched, turns.size() * 3 / 8);
}

TEST(Block, ShortCallsAreTimedTogetherAndLongOnesThrice) {
  FakeRunner machine;
  machine.takes('x', 0)();
  const auto quick = measure_block([&] { machine.now_ns += 1000; }, [&] { machine.now_ns += 900; },
                                   machine.options());
  EXPECT_DOUBLE_EQ(quick.baseline_ns[0], 1000);
  EXPECT_DOUBLE_EQ(quick.candidate_ns[0], 900);
  EXPECT_GT(quick.baseline_ns.size(), 200);
  EXPECT_LT(quick.baseline_ns.size(), 400);
  const auto slow = measure_block([&] { machine.now_ns += 1e9; }, [&] { machine.now_ns += 2e9; },
                                  machine.options());
  EXPECT_EQ(slow.baseline_ns.size(), 3);
}

}  // namespace
}  // namespace aoe

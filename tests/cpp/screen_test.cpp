#include "measure/statistics/screen.h"

#include <gtest/gtest.h>

#include <cmath>

namespace aoe {
namespace {

TEST(Screen, LooksAsLongAsItMust) {
  struct Case {
    std::vector<double> runs_ns;
    double best_ns;
    Screened expected;
  };
  const Case cases[] = {
      {{}, INFINITY, Screened::not_timed},
      {{100}, INFINITY, Screened::not_timed},
      {{100, 101, 99, 100, 100}, INFINITY, Screened::kept},
      {{1000}, 100, Screened::not_timed},  // one run may have been interrupted
      {{1000, 900}, 100, Screened::hopeless},
      {{1000, 240}, 100, Screened::not_timed},
      {{240, 240, 240, 240, 240}, 100, Screened::kept},
      {{9}, 100, Screened::impossible},
      {{100, 100, 100, 100, 9.9}, 100, Screened::impossible},
      {{100, 0}, 100, Screened::impossible},
      {{100, -5}, 100, Screened::impossible},
      {{NAN}, 100, Screened::impossible},
      {{INFINITY}, 100, Screened::impossible},
  };
  for (const Case& c : cases) {
    EXPECT_EQ(screen_runs(c.runs_ns, c.best_ns, 10), c.expected) << &c - cases;
  }
}

// Counted with the operations of the direct method, Winograd's algorithm reaches 3.2 times the
// peak.
TEST(Screen, CleverAlgorithmsAreNoFault) {
  const Rates rates{.fma_gflops = 118};
  const double operations = 231e6;
  EXPECT_GT(operations / 374, least_ns(operations, rates));
  EXPECT_LT(operations / 900, least_ns(operations, rates));
}

}  // namespace
}  // namespace aoe

#include "measure/statistics/block.h"

#include <algorithm>
#include <cmath>
#include <random>

namespace aoe {
namespace {

double turn_ns(const std::function<void()>& call, int64_t calls, const Clock& clock) {
  const double start = clock();
  for (int64_t i = 0; i < calls; ++i) call();
  return (clock() - start) / static_cast<double>(calls);
}

}  // namespace

Block measure_block(const std::function<void()>& baseline, const std::function<void()>& candidate,
                    const BlockOptions& options) {
  const Clock& clock = options.clock;
  const double start = clock();
  baseline();  // uncounted: first calls may initialize state
  candidate();
  // Calls per turn, the same for both sides. It is doubled until a turn is long enough, because the
  // time of a few short calls is dominated by reading the clock.
  int64_t calls = 1;
  for (double ns = 0; calls < 1 << 20; calls *= 2) {
    ns = std::max(turn_ns(baseline, calls, clock), turn_ns(candidate, calls, clock));
    if (static_cast<double>(2 * calls) * ns > options.turn_ns) break;
  }
  Block block;
  std::mt19937 random(options.seed);
  while (block.baseline_ns.size() < options.fewest_pairs || clock() - start < options.block_ns) {
    const bool candidate_first = random() % 2 == 0;
    if (candidate_first) block.candidate_ns.push_back(turn_ns(candidate, calls, clock));
    block.baseline_ns.push_back(turn_ns(baseline, calls, clock));
    if (!candidate_first) block.candidate_ns.push_back(turn_ns(candidate, calls, clock));
  }
  block.spent_ns = clock() - start;
  return block;
}

}  // namespace aoe

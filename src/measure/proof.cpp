#include "measure/proof.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <functional>
#include <limits>

namespace aoe {
namespace {

// What is staked suits a truth in which so many of all blocks agree: wealth then grows fastest. In
// 24 blocks up to four may disagree. A mixture of stakes would win in the long run, but needs some
// blocks more in runs as short as these.
constexpr double kAgreeing = 0.88;

constexpr double kInfinity = std::numeric_limits<double>::infinity();

double middle_of(std::vector<double> values) {
  const size_t half = values.size() / 2;
  const auto middle = values.begin() + static_cast<ptrdiff_t>(half);
  std::nth_element(values.begin(), middle, values.end());
  if (values.size() % 2 == 1) return *middle;
  return (*middle + *std::max_element(values.begin(), middle)) / 2;
}

}  // namespace

size_t agreeing_blocks(size_t n, double error) {
  const double win = std::log(2 * kAgreeing);
  const double loss = std::log(2 * (1 - kAgreeing));
  const double needed = (-std::log(error) - static_cast<double>(n) * loss) / (win - loss);
  return static_cast<size_t>(std::ceil(needed));
}

double block_speed_up(std::span<const double> incumbent_ns, std::span<const double> candidate_ns) {
  assert(!incumbent_ns.empty() && incumbent_ns.size() == candidate_ns.size());
  std::vector<double> logs;
  for (size_t i = 0; i < incumbent_ns.size(); ++i) {
    logs.push_back(std::log(incumbent_ns[i] / candidate_ns[i]));
  }
  return std::exp(middle_of(std::move(logs)));
}

Proof proof_of(std::span<const double> speed_ups, const ProofOptions& options) {
  Proof proof{.speed_up = {1, 0, kInfinity}};
  const double bar = 1 + options.margin;
  std::vector<double> sorted;
  size_t above = 0;
  for (const double speed_up : speed_ups) {
    sorted.insert(std::lower_bound(sorted.begin(), sorted.end(), speed_up), speed_up);
    if (speed_up > bar) ++above;
    // What was excluded once stays excluded: bounds never widen.
    const size_t n = sorted.size();
    const size_t agreeing = agreeing_blocks(n);
    if (agreeing > n) continue;
    proof.speed_up.low = std::max(proof.speed_up.low, sorted[n - agreeing]);
    proof.speed_up.high = std::min(proof.speed_up.high, sorted[agreeing - 1]);
  }
  if (sorted.empty()) return proof;
  proof.speed_up.median = middle_of(sorted);
  const size_t left = options.most_blocks - std::min(options.most_blocks, sorted.size());
  if (options.to_the_end && left > 0) return proof;
  if (proof.speed_up.low > bar) proof.decision = ProofDecision::accepted;
  // It takes the most blocks to allow the most that disagree, so no earlier look can do better.
  else if (above + left < agreeing_blocks(options.most_blocks))
    proof.decision = ProofDecision::rejected;
  return proof;
}

}  // namespace aoe

#include "measure/statistics/proof.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <functional>
#include <limits>

#include "base/median.h"

// The e-value after n blocks of which a agree is (2q)^a (2 (1 - q))^(n - a). For given n it depends
// on a alone, so order statistics test all v at once: required_agreeing_blocks gives the smallest a
// that reaches the threshold, and element n - a of the sorted speed-ups is then the lower bound:
//
//   s(0) <= ... <= s(n-a) <= ... <= s(n-1)        any v below s(n-a) has a blocks above it,
//                  low                            and is excluded

namespace aoe {
namespace {

// The constant q of the bet. The e-value grows fastest (Kelly) if this share of the blocks agrees.
// Up to four of 24 blocks may disagree. A mixture over q would be better asymptotically, but needs
// a few more blocks in runs as short as these.
constexpr double kAgreeing = 0.88;

constexpr double kInfinity = std::numeric_limits<double>::infinity();

}  // namespace

size_t required_agreeing_blocks(size_t n, double error) {
  const double win = std::log(2 * kAgreeing);
  const double loss = std::log(2 * (1 - kAgreeing));
  const double needed = (-std::log(error) - static_cast<double>(n) * loss) / (win - loss);
  return static_cast<size_t>(std::ceil(needed));
}

double block_speed_up(std::span<const double> baseline_ns, std::span<const double> candidate_ns) {
  assert(!baseline_ns.empty() && baseline_ns.size() == candidate_ns.size());
  std::vector<double> logs;
  for (size_t i = 0; i < baseline_ns.size(); ++i) {
    logs.push_back(std::log(baseline_ns[i] / candidate_ns[i]));
  }
  return std::exp(median(std::move(logs)));
}

Proof proof_of(std::span<const double> speed_ups, const ProofOptions& options) {
  Proof proof{.speed_up = {1, 0, kInfinity}};
  const double bar = 1 + options.margin;
  std::vector<double> sorted;
  size_t above = 0;
  for (const double speed_up : speed_ups) {
    sorted.insert(std::lower_bound(sorted.begin(), sorted.end(), speed_up), speed_up);
    if (speed_up > bar) ++above;
    // Confidence sequences may be intersected over time: what was excluded once stays excluded.
    const size_t n = sorted.size();
    const size_t agreeing = required_agreeing_blocks(n);
    if (agreeing > n) continue;
    proof.speed_up.low = std::max(proof.speed_up.low, sorted[n - agreeing]);
    proof.speed_up.high = std::min(proof.speed_up.high, sorted[agreeing - 1]);
  }
  if (sorted.empty()) return proof;
  proof.speed_up.median = median(sorted);
  const size_t left = options.most_blocks - std::min(options.most_blocks, sorted.size());
  if (options.to_the_end && left > 0) return proof;
  if (proof.speed_up.low > bar) proof.decision = ProofDecision::accepted;
  // Futility: even if all remaining blocks agree, the last look would not accept. The number of
  // blocks that may disagree grows with n, so no look in between could accept either.
  else if (above + left < required_agreeing_blocks(options.most_blocks))
    proof.decision = ProofDecision::rejected;
  return proof;
}

}  // namespace aoe

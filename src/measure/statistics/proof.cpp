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
// At least four blocks may disagree. A mixture over q would be better asymptotically, but needs
// a few more blocks in runs as short as these.
constexpr double kAgreeing = 0.88;

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// Blocks of a proof that may disagree. More would find smaller gains, but comparisons of equals,
// which are most, would take longer to be rejected.
constexpr size_t kMayDisagree = 4;

}  // namespace

size_t required_agreeing_blocks(size_t n, double error) {
  const double win = std::log(2 * kAgreeing);
  const double loss = std::log(2 * (1 - kAgreeing));
  const double needed = (-std::log(error) - static_cast<double>(n) * loss) / (win - loss);
  return static_cast<size_t>(std::ceil(needed));
}

size_t fewest_blocks(double error) {
  return static_cast<size_t>(std::ceil(-std::log(error) / std::log(2 * kAgreeing)));
}

size_t most_blocks(double error) {
  size_t n = fewest_blocks(error) + kMayDisagree;
  while (required_agreeing_blocks(n, error) + kMayDisagree > n) ++n;
  return n;
}

double ErrorBudget::next() {
  const auto i = static_cast<double>(++claims_);
  return kJobError * 10 / ((i + 9) * (i + 10));
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
  constexpr double kSide = (1 - kConfidence) / 2;
  Proof proof{.speed_up = {1, 0, kInfinity}};
  const double bar = 1 + options.margin;
  std::vector<double> sorted;
  size_t above = 0;
  bool accepted = false;
  for (const double speed_up : speed_ups) {
    sorted.insert(std::lower_bound(sorted.begin(), sorted.end(), speed_up), speed_up);
    if (speed_up > bar) ++above;
    const size_t n = sorted.size();
    accepted = accepted || above >= required_agreeing_blocks(n, options.error);
    // Confidence sequences may be intersected over time: what was excluded once stays excluded.
    const size_t agreeing = required_agreeing_blocks(n, kSide);
    if (agreeing > n) continue;
    proof.speed_up.low = std::max(proof.speed_up.low, sorted[n - agreeing]);
    proof.speed_up.high = std::min(proof.speed_up.high, sorted[agreeing - 1]);
  }
  if (sorted.empty()) return proof;
  proof.speed_up.median = median(sorted);
  const size_t most = most_blocks(options.error);
  const size_t left = most - std::min(most, sorted.size());
  if (accepted) proof.decision = ProofDecision::accepted;
  // Futility: even if all blocks that are left agree, the last look would not accept. The number
  // that may disagree grows with n, so no look in between could accept either.
  else if (above + left < required_agreeing_blocks(most, options.error))
    proof.decision = ProofDecision::rejected;
  return proof;
}

}  // namespace aoe

#include "measure/statistics/take_back.h"

#include <algorithm>
#include <numeric>
#include <optional>

namespace aoe {
namespace {

using Policies = std::vector<size_t>;

// Every policy was proven in its place already. Together they may gain less than can be proven of a
// whole model in a reasonable time: that is no reason to take them back, a loss is.
bool carries_over(const Proof& proof) {
  return proof.decision == ProofDecision::accepted || proof.speed_up.median > 1;
}

// The search from its start, as far as trials answer it. The first question without an answer is
// the next one.
class Halving {
 public:
  Halving(std::span<const WholeTrial> trials, size_t most_trials)
      : trials_(trials), most_trials_(most_trials) {}

  // The best part of these that carries over; none if there is none.
  const WholeTrial* carried_part(const Policies& policies) {
    if (policies.empty()) return nullptr;
    const WholeTrial* const whole = trial_of(policies);
    if (whole == nullptr || carries_over(whole->proof)) return whole;
    if (policies.size() == 1) return nullptr;
    const auto middle = policies.begin() + static_cast<ptrdiff_t>(policies.size() / 2);
    const WholeTrial* const first = carried_part({policies.begin(), middle});
    const WholeTrial* const second = carried_part({middle, policies.end()});
    if (first == nullptr || second == nullptr) return first == nullptr ? second : first;
    Policies both = first->policies;
    both.insert(both.end(), second->policies.begin(), second->policies.end());
    const WholeTrial* const together = both == policies ? nullptr : trial_of(both);
    if (together != nullptr && carries_over(together->proof)) return together;
    return first->proof.speed_up.median < second->proof.speed_up.median ? second : first;
  }

  const std::optional<Policies>& next() const { return next_; }

 private:
  const WholeTrial* trial_of(const Policies& policies) {
    const auto found = std::find_if(trials_.begin(), trials_.end(), [&](const WholeTrial& trial) {
      return trial.policies == policies;
    });
    if (found != trials_.end()) return &*found;
    if (!next_ && trials_.size() < most_trials_) next_ = policies;
    return nullptr;
  }

  std::span<const WholeTrial> trials_;
  size_t most_trials_;
  std::optional<Policies> next_;
};

}  // namespace

WholeStep next_whole(size_t count, std::span<const WholeTrial> trials, size_t most_trials) {
  Policies all(count);
  std::iota(all.begin(), all.end(), 0);
  Halving halving(trials, most_trials);
  const WholeTrial* const carried = halving.carried_part(all);
  if (halving.next()) return {false, *halving.next()};
  return {true, carried == nullptr ? Policies() : carried->policies};
}

}  // namespace aoe

#include "measure/statistics/carry_over.h"

#include <algorithm>
#include <numeric>
#include <optional>

namespace aoe {
namespace {

using Policies = std::vector<size_t>;

// Every policy was already proven in place. Together they may gain too little to be proven on the
// whole model in reasonable time. That is no reason to drop them, so a median above 1 is enough.
bool carries_over(const WholeTrial& trial) {
  if (trial.failed) return false;
  return trial.proof.decision == ProofDecision::accepted || trial.proof.speed_up.median > 1;
}

// Repeats the search from its start on the results of the trials so far. The first subset without a
// trial is the next one to measure.
class Halving {
 public:
  Halving(std::span<const WholeTrial> trials, size_t most_trials)
      : trials_(trials), most_trials_(most_trials) {}

  // The trial of the best subset of `policies` that carries over. Null if there is none, or if a
  // trial that decides it is missing.
  const WholeTrial* carried_part(const Policies& policies) {
    if (policies.empty()) return nullptr;
    const WholeTrial* const whole = trial_of(policies);
    if (whole == nullptr || carries_over(*whole)) return whole;
    if (policies.size() == 1) return nullptr;
    const auto middle = policies.begin() + static_cast<ptrdiff_t>(policies.size() / 2);
    const WholeTrial* const first = carried_part({policies.begin(), middle});
    const WholeTrial* const second = carried_part({middle, policies.end()});
    if (first == nullptr || second == nullptr) return first == nullptr ? second : first;
    Policies both = first->policies;
    both.insert(both.end(), second->policies.begin(), second->policies.end());
    const WholeTrial* const together = both == policies ? nullptr : trial_of(both);
    if (together != nullptr && carries_over(*together)) return together;
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

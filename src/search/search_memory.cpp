#include "search/search_memory.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "policy/policy_text.h"
#include "search/kernel_features.h"

namespace aoe {

SearchMemory::SearchMemory(std::shared_ptr<const Space> space, std::shared_ptr<Ranker> ranker,
                           const Policy& baseline)
    : space_(std::move(space)), ranker_(std::move(ranker)) {
  claim(baseline);
  learn(baseline, 1);
}

std::string SearchMemory::text_of(const Policy& policy) const {
  return to_string(policy, space_->schedule(policy.structure));
}

std::vector<float> SearchMemory::features(const Policy& policy) const {
  return features_of(space_->schedule(policy.structure), policy, space_->device());
}

bool SearchMemory::claim(const Policy& policy) {
  if (!claimed_.insert(text_of(policy)).second) return false;
  for (const Decision& one : space_->decisions(policy)) {
    taken_.emplace(one.name, one.options[one.chosen]);
  }
  return true;
}

double SearchMemory::novelty(const std::vector<Decision>& decisions) const {
  double greatest = 0;
  for (const Decision& one : decisions) {
    if (!taken_.contains({one.name, one.options[one.chosen]})) {
      greatest = std::max(greatest, one.weight);
    }
  }
  return greatest;
}

bool SearchMemory::is_claimed(const Policy& policy) const {
  return claimed_.contains(text_of(policy));
}

void SearchMemory::learn(const Policy& policy, double share) {
  ranker_->add(features(policy), share);
  if (!std::isfinite(share)) return;
  const auto at =
      std::upper_bound(seen_.begin(), seen_.end(), share,
                       [](double value, const Seen& seen) { return value < seen.share; });
  seen_.insert(at, {policy, share});
}

std::vector<double> SearchMemory::expected(const std::vector<Policy>& policies) const {
  std::vector<std::vector<float>> rows;
  rows.reserve(policies.size());
  for (const Policy& policy : policies) rows.push_back(features(policy));
  return ranker_->expected(rows);
}

std::vector<Policy> SearchMemory::most_promising_first(std::vector<Policy> policies) const {
  const std::vector<double> expected = this->expected(policies);
  std::vector<size_t> order(policies.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return expected[a] < expected[b]; });
  std::vector<Policy> sorted;
  for (const size_t i : order) sorted.push_back(std::move(policies[i]));
  return sorted;
}

}  // namespace aoe

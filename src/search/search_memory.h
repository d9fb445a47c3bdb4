#pragma once

#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "policy/space.h"
#include "search/ranker.h"

namespace aoe {

// The state of the search for one workload: the policies that were proposed, the times of those
// that were measured, and the ranker, which predicts the times of others. Strategies that take
// turns share one.
class SearchMemory {
 public:
  // Shares are times divided by the time of `baseline`. Memories of other workloads may share the
  // ranker.
  SearchMemory(std::shared_ptr<const Space> space, std::shared_ptr<Ranker> ranker,
               const Policy& baseline);

  const Space& space() const { return *space_; }

  // Records the policy as proposed. Returns false if it was proposed before, as the baseline was.
  bool claim(const Policy& policy);
  bool is_claimed(const Policy& policy) const;

  // The largest weight of a decision whose option no proposed policy has, so that the ranker cannot
  // know its effect; 0 if there is none.
  double novelty(const std::vector<Decision>& decisions) const;

  void learn(const Policy& policy, double share);

  struct Seen {
    Policy policy;
    double share;
  };
  // The measured policies, fastest first, including the baseline and without those that failed.
  const std::vector<Seen>& seen() const { return seen_; }

  // For each policy: the expected log2 of its share (search/ranker.h).
  std::vector<double> expected(const std::vector<Policy>& policies) const;
  // The policies, sorted by expected share, lowest first.
  std::vector<Policy> most_promising_first(std::vector<Policy> policies) const;

 private:
  std::string text_of(const Policy& policy) const;
  std::vector<float> features(const Policy& policy) const;

  std::shared_ptr<const Space> space_;
  std::shared_ptr<Ranker> ranker_;
  std::set<std::string> claimed_;                        // texts of proposed policies
  std::set<std::pair<std::string, std::string>> taken_;  // their decisions, with the options
  std::vector<Seen> seen_;
};

}  // namespace aoe

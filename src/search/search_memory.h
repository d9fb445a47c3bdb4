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

// What is known of one workload's policies: which were proposed, how fast those were that were
// measured, and how fast others should be. Searchers that follow each other share one.
class SearchMemory {
 public:
  // Shares are of the time of `baseline`. Searchers of other workloads may share the ranker.
  SearchMemory(std::shared_ptr<const Space> space, std::shared_ptr<Ranker> ranker,
               const Policy& baseline);

  const Space& space() const { return *space_; }

  // Whether the policy was not proposed before; it is from then on. The baseline was.
  bool claim(const Policy& policy);
  bool is_claimed(const Policy& policy) const;

  // What a ranker cannot know of a policy: the greatest weight of a decision that takes an option
  // which no proposed policy has. Zero if there is none.
  double novelty(const std::vector<Decision>& decisions) const;

  void learn(const Policy& policy, double share);

  struct Seen {
    Policy policy;
    double share;
  };
  // The fastest first, the baseline among them, nothing that failed.
  const std::vector<Seen>& seen() const { return seen_; }

  // Of each, the expected logarithm of its share (search/ranker.h).
  std::vector<double> expected(const std::vector<Policy>& policies) const;
  // Those first of which most is expected.
  std::vector<Policy> most_promising_first(std::vector<Policy> policies) const;

 private:
  std::string text_of(const Policy& policy) const;
  std::vector<float> features(const Policy& policy) const;

  std::shared_ptr<const Space> space_;
  std::shared_ptr<Ranker> ranker_;
  std::set<std::string> claimed_;
  std::set<std::pair<std::string, std::string>> taken_;  // decisions and options of those
  std::vector<Seen> seen_;
};

}  // namespace aoe

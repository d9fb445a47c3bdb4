#include "search/searcher.h"

#include <algorithm>

namespace aoe {
namespace {

// The best policy often combines decisions of the default with those of other shapes: kCrosses
// proposals are crossovers of these, the ranker's best of batches of kCrossed.
constexpr size_t kCrosses = 8;
constexpr size_t kCrossed = 16;

// Samples that were proposed before, in one call, after which the space counts as exhausted.
constexpr int kMostRepeats = 256;

class ScheduledSearcher : public Searcher {
 public:
  ScheduledSearcher(std::shared_ptr<SearchMemory> memory, SearchPlan plan)
      : memory_(std::move(memory)), plan_(std::move(plan)) {}

  std::vector<Policy> propose(size_t count) override {
    std::vector<Policy> policies;
    for (Policy& seed : plan_.seeds) {
      if (policies.size() == count) break;
      if (memory_->claim(seed)) policies.push_back(seed);
    }
    append(policies, crosses(std::min(count - policies.size(), kCrosses - crossed_)));
    Strategy* turn = plan_.first.get();
    Strategy* other = plan_.last.get();
    if (other != nullptr && proposed_ % plan_.samples >= plan_.first_samples)
      std::swap(turn, other);
    for (Strategy* const strategy : {turn, other}) {
      if (policies.size() == count || strategy == nullptr) break;
      append(policies, strategy->propose(count - policies.size(), *memory_));
    }
    proposed_ += policies.size();
    return policies;
  }

  void learn(const Policy& policy, double share) override { memory_->learn(policy, share); }

 private:
  // Crossovers of the seeds and the default, between policies of the same structure.
  std::vector<Policy> crosses(size_t count) {
    if (plan_.seeds.empty() || count == 0) return {};
    std::vector<Policy> parents{memory_->space().default_policy()};
    parents.insert(parents.end(), plan_.seeds.begin(), plan_.seeds.end());
    std::uniform_int_distribution<size_t> any(0, parents.size() - 1);
    std::vector<Policy> children;
    for (size_t i = 0; i < kCrossed; ++i) {
      const Policy& one = parents[any(random_)];
      const Policy& other = parents[any(random_)];
      if (one.structure != other.structure) continue;
      children.push_back(memory_->space().crossover(one, other, random_));
    }
    std::vector<Policy> policies;
    for (Policy& child : memory_->most_promising_first(std::move(children))) {
      if (policies.size() == count) break;
      if (memory_->claim(child)) policies.push_back(std::move(child));
    }
    crossed_ += policies.size();
    return policies;
  }

  static void append(std::vector<Policy>& policies, std::vector<Policy> more) {
    policies.insert(policies.end(), std::make_move_iterator(more.begin()),
                    std::make_move_iterator(more.end()));
  }

  std::shared_ptr<SearchMemory> memory_;
  SearchPlan plan_;
  Random random_{plan_.seed};
  size_t proposed_ = 0;
  size_t crossed_ = 0;
};

class RandomSearch : public Strategy {
 public:
  explicit RandomSearch(uint64_t seed) : random_(seed) {}

  std::vector<Policy> propose(size_t count, SearchMemory& memory) override {
    std::vector<Policy> policies;
    for (int repeats = 0; policies.size() < count && repeats < kMostRepeats;) {
      Policy policy = memory.space().sample(random_);
      if (memory.claim(policy)) policies.push_back(std::move(policy));
      else ++repeats;
    }
    return policies;
  }

 private:
  Random random_;
};

}  // namespace

std::unique_ptr<Strategy> random_search(uint64_t seed) {
  return std::make_unique<RandomSearch>(seed);
}

SearchPlan plan_for(const Space& space, size_t samples, uint64_t seed) {
  SearchPlan plan;
  plan.first = space.has_products() ? genetic_search(seed) : tree_search(seed);
  plan.samples = samples;
  plan.seed = seed;
  plan.first_samples = samples - samples / 4;
  plan.last = descent(seed);
  return plan;
}

std::unique_ptr<Searcher> make_searcher(std::shared_ptr<SearchMemory> memory, SearchPlan plan) {
  return std::make_unique<ScheduledSearcher>(std::move(memory), std::move(plan));
}

}  // namespace aoe

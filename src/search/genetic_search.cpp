#include <algorithm>
#include <cmath>
#include <limits>

#include "search/searcher.h"

// Genetic search with a species for each structure. A call of `propose` breeds every species for a
// few generations on the ranker's predictions (bred), then proposes the best children. Only
// proposals are measured; the measured policies are the parents of the next call (learn).

namespace aoe {
namespace {

constexpr size_t kParents = 12;   // most measured policies, and most children, that breed
constexpr size_t kChildren = 64;  // per generation
constexpr int kGenerations = 3;
// One in kExplored proposals goes to the structure with the best lower confidence bound.
constexpr size_t kExplored = 3;
// The weight of the exploration term of that bound, in units of log2 of the time.
constexpr double kOptimism = 0.3;
// One in kFresh children is the default or a parent in which each decision that is not structural
// is drawn again with probability kFreshChange.
constexpr size_t kFresh = 4;
constexpr double kFreshChange = 0.5;

struct Child {
  Policy policy;
  double expected = 0;  // log2 of the share, predicted or measured
};

bool is_better(const Child& a, const Child& b) { return a.expected < b.expected; }

// The policies of one structure: only these can be crossed.
struct Species {
  Policy first;                // the default policy of the structure
  std::vector<Child> parents;  // measured, best first
  size_t tried = 0;            // policies proposed
};

class GeneticSearch : public Strategy {
 public:
  explicit GeneticSearch(uint64_t seed) : random_(seed) {}

  std::vector<Policy> propose(size_t count, SearchMemory& memory) override {
    if (species_.empty()) begin(memory.space());
    learn(memory);
    std::vector<Policy> policies;
    // The defaults of all structures come first.
    for (Species& one : species_) {
      if (policies.size() < count && memory.claim(one.first)) policies.push_back(one.first);
    }
    if (policies.size() == count) return policies;
    std::vector<std::vector<Child>> children;
    for (const Species& one : species_) children.push_back(bred(one, memory));
    while (policies.size() < count) {
      const bool explores = ++proposed_ % kExplored == 0;
      const auto chosen = explores ? best_lower_bound(children) : most_promising(children);
      if (!chosen) break;
      const Child child = children[*chosen].front();
      children[*chosen].erase(children[*chosen].begin());
      if (!memory.claim(child.policy)) continue;
      ++species_[*chosen].tried;
      policies.push_back(child.policy);
    }
    return policies;
  }

 private:
  void begin(const Space& space) {
    species_.push_back({space.default_policy(), {}, 0});
    for (Policy& other : space.other_structures()) species_.push_back({std::move(other), {}, 0});
  }

  void learn(const SearchMemory& memory) {
    for (Species& one : species_) {
      one.parents.clear();
      for (const auto& [policy, share] : memory.seen()) {
        if (one.parents.size() == kParents) break;
        if (policy.structure == one.first.structure) {
          one.parents.push_back({policy, std::log2(share)});
        }
      }
      one.tried = std::max(one.tried, one.parents.size());
    }
  }

  size_t below(size_t count) {
    return std::uniform_int_distribution<size_t>(0, count - 1)(random_);
  }

  // Returns children of all generations that were not proposed yet, most promising first.
  std::vector<Child> bred(const Species& species, const SearchMemory& memory) {
    std::vector<Child> population = species.parents;
    if (population.empty()) population.push_back({species.first, 0});
    std::vector<Child> fresh;
    for (int generation = 0; generation < kGenerations; ++generation) {
      std::vector<Policy> children;
      for (size_t i = 0; i < kChildren; ++i) {
        Policy policy = child(memory.space(), species.first, population);
        const bool known = policy.structure != species.first.structure ||
                           std::any_of(fresh.begin(), fresh.end(),
                                       [&](const Child& one) { return one.policy == policy; }) ||
                           memory.is_claimed(policy);
        if (!known) children.push_back(std::move(policy));
      }
      const std::vector<double> expected = memory.expected(children);
      for (size_t i = 0; i < children.size(); ++i) fresh.push_back({children[i], expected[i]});
      std::stable_sort(fresh.begin(), fresh.end(), is_better);
      // The next generation has measured parents and the children with the best predictions.
      population = species.parents;
      for (size_t i = 0; i < std::min(fresh.size(), kParents); ++i) population.push_back(fresh[i]);
      if (population.empty()) return fresh;
      std::stable_sort(population.begin(), population.end(), is_better);
    }
    return fresh;
  }

  Policy child(const Space& space, const Policy& first, const std::vector<Child>& population) {
    // Tournament selection: the better of two. `population` is sorted, best first.
    const auto parent = [&]() -> const Policy& {
      return population[std::min(below(population.size()), below(population.size()))].policy;
    };
    if (below(kFresh) == 0) return scattered(space, below(2) == 0 ? first : parent());
    Policy policy = space.crossover(parent(), parent(), random_);
    for (size_t changes = below(3); changes > 0; --changes) policy = space.mutate(policy, random_);
    return policy;
  }

  Policy scattered(const Space& space, const Policy& from) {
    const std::vector<Decision> chain = space.decisions(from);
    return space.chosen(from, [&](size_t d, size_t count, size_t wanted) {
      const bool stays = (d < chain.size() && chain[d].structural) ||
                         std::uniform_real_distribution<double>(0, 1)(random_) > kFreshChange;
      return stays ? wanted : below(count);
    });
  }

  static std::optional<size_t> most_promising(const std::vector<std::vector<Child>>& children) {
    std::optional<size_t> best;
    for (size_t i = 0; i < children.size(); ++i) {
      if (children[i].empty()) continue;
      if (!best || is_better(children[i].front(), children[*best].front())) best = i;
    }
    return best;
  }

  std::optional<size_t> best_lower_bound(const std::vector<std::vector<Child>>& children) const {
    size_t all = 1;
    for (const Species& one : species_) all += one.tried;
    std::optional<size_t> best;
    double best_value = std::numeric_limits<double>::infinity();
    for (size_t i = 0; i < children.size(); ++i) {
      if (children[i].empty()) continue;
      const Species& one = species_[i];
      // Without measurements, a structure counts as taking twice the baseline's time.
      const double known = one.parents.empty() ? 1 : one.parents[0].expected;
      const double value =
          known - kOptimism * std::sqrt(std::log(static_cast<double>(all)) /
                                        static_cast<double>(std::max<size_t>(one.tried, 1)));
      if (value < best_value) {
        best_value = value;
        best = i;
      }
    }
    return best;
  }

  Random random_;
  std::vector<Species> species_;
  size_t proposed_ = 0;
};

}  // namespace

std::unique_ptr<Strategy> genetic_search(uint64_t seed) {
  return std::make_unique<GeneticSearch>(seed);
}

}  // namespace aoe

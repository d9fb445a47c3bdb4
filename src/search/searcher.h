#pragma once

#include <memory>
#include <vector>

#include "search/search_memory.h"

namespace aoe {

// A Searcher looks for the fastest policy of one workload. Its proposals depend only on its seed
// and on the calls so far (of all searchers that share its ranker), so that a job can be replayed.
class Searcher {
 public:
  virtual ~Searcher() = default;

  // Returns `count` policies that were not proposed before, in the order in which to measure them,
  // or fewer if there are no more. Their times may arrive after further calls of `propose`.
  virtual std::vector<Policy> propose(size_t count) = 0;

  // Tells the time of a policy divided by the baseline's time in the same measurement; infinity if
  // the policy failed.
  virtual void learn(const Policy& policy, double share) = 0;
};

// A way to propose policies. The results so far are in the memory.
class Strategy {
 public:
  virtual ~Strategy() = default;
  virtual std::vector<Policy> propose(size_t count, SearchMemory& memory) = 0;
};

// Uniform sampling, decision by decision: the reference for comparing strategies.
std::unique_ptr<Strategy> random_search(uint64_t seed);
// Local search: neighbours of the best policy so far, in the order of the ranker.
std::unique_ptr<Strategy> descent(uint64_t seed);
// Evolution on the ranker's predictions: for cube operators.
std::unique_ptr<Strategy> genetic_search(uint64_t seed);
// Monte-Carlo tree search over the chain of decisions, with rollouts scored by the ranker: for
// vector operators.
std::unique_ptr<Strategy> tree_search(uint64_t seed);

// The order of proposals: seeds, crossovers of them with each other and the default, then
// strategies in turns.
struct SearchPlan {
  // Proposed first: the default if it is not the baseline, then transfer seeds, most promising
  // first.
  std::vector<Policy> seeds;
  uint64_t seed = 0;  // of the random crossovers
  // In each cycle of `samples` proposals, `first` makes the first `first_samples` and `last` the
  // others; null: none. If one has no more, the other takes over.
  std::unique_ptr<Strategy> first;
  std::unique_ptr<Strategy> last;
  size_t samples = 0;
  size_t first_samples = 0;
};
// The plan for a workload: genetic search for cube operators and tree search for vector operators,
// with descent in the last quarter of the samples.
SearchPlan plan_for(const Space& space, size_t samples, uint64_t seed);

std::unique_ptr<Searcher> make_searcher(std::shared_ptr<SearchMemory> memory, SearchPlan plan);

}  // namespace aoe

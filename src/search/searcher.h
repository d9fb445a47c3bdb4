#pragma once

#include <memory>
#include <vector>

#include "search/search_memory.h"

namespace aoe {

// Looks for the best policy of one workload. What it proposes depends on its seed and on what it
// was told, and on nothing else.
class Searcher {
 public:
  virtual ~Searcher() = default;

  // Policies that were not proposed before, the most promising first: as many as asked for, or
  // fewer when it knows no more. What it proposes may be told of later than the next is asked for.
  virtual std::vector<Policy> propose(size_t count) = 0;

  // How long a policy took, as a part of what the baseline took under the same
  // circumstances. Infinite for one that failed.
  virtual void learn(const Policy& policy, double share) = 0;
};

// One way to propose; what was learnt is in the memory.
class Strategy {
 public:
  virtual ~Strategy() = default;
  virtual std::vector<Policy> propose(size_t count, SearchMemory& memory) = 0;
};

// Uniformly, decision by decision: what others are compared with.
std::unique_ptr<Strategy> random_search(uint64_t seed);
// The neighbours of the best policy, those first that the ranker expects most of, and of what is
// found there.
std::unique_ptr<Strategy> descent(uint64_t seed);
// A population that the ranker breeds: for cube operators.
std::unique_ptr<Strategy> genetic_search(uint64_t seed);
// Monte-Carlo tree search over the chain of decisions, with rollouts that the ranker scores: for
// vector operators.
std::unique_ptr<Strategy> tree_search(uint64_t seed);

struct SearchPlan {
  // Tried first: what a bank has for other shapes of the operator, the most promising first; then
  // some crosses of them and the default.
  std::vector<Policy> seeds;
  uint64_t seed = 0;  // of what is random about these
  std::unique_ptr<Strategy> first;
  // Of so many proposals, the first ones are the first's and the others the last's, if there is
  // one; then it is the first's turn again. Where one knows no more, the other goes on.
  std::unique_ptr<Strategy> last;
  size_t samples = 0;
  size_t first_samples = 0;
};
// What suits the workload: by its kind genetic or tree search, and in the last quarter of the
// samples, descent.
SearchPlan plan_for(const Space& space, size_t samples, uint64_t seed);

std::unique_ptr<Searcher> search(std::shared_ptr<SearchMemory> memory, SearchPlan plan);

}  // namespace aoe

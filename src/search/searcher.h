#pragma once

#include <memory>
#include <vector>

#include "policy/space.h"

namespace aoe {

// Looks for the best policy of one workload. What it proposes depends on its seed and on what it
// was told, and on nothing else.
class Searcher {
 public:
  virtual ~Searcher() = default;

  // Policies that it has not proposed before, the most promising first: as many as asked for, or
  // fewer when it knows no more. What it proposes may be told of later than the next is asked for.
  virtual std::vector<Policy> propose(size_t count) = 0;

  // How long a policy took, as a part of what the default one took under the same circumstances.
  // Infinite for one that failed.
  virtual void learn(const Policy& policy, double share) = 0;
};

// Random policies first, then the neighbours of the best one, and of what is found there.
std::unique_ptr<Searcher> plain_search(std::shared_ptr<const Space> space, uint64_t seed);

}  // namespace aoe

#include <algorithm>

#include "search/searcher.h"

namespace aoe {
namespace {

class Descent : public Strategy {
 public:
  explicit Descent(uint64_t seed) : random_(seed) {}

  std::vector<Policy> propose(size_t count, SearchMemory& memory) override {
    std::vector<Policy> policies;
    // Neighbours of the best policy; once all of them are claimed, of the next best.
    for (size_t from = 0; from < memory.seen().size() && policies.size() < count; ++from) {
      std::vector<Policy> around = memory.space().neighbours(memory.seen()[from].policy);
      std::erase_if(around, [&](const Policy& policy) { return memory.is_claimed(policy); });
      std::shuffle(around.begin(), around.end(), random_);
      for (Policy& policy : memory.most_promising_first(std::move(around))) {
        if (policies.size() == count) break;
        if (memory.claim(policy)) policies.push_back(std::move(policy));
      }
    }
    return policies;
  }

 private:
  Random random_;
};

}  // namespace

std::unique_ptr<Strategy> descent(uint64_t seed) { return std::make_unique<Descent>(seed); }

}  // namespace aoe

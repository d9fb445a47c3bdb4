#include <algorithm>
#include <limits>

#include "search/searcher.h"

namespace aoe {
namespace {

// A first impression of the space, for descent to start from its best.
constexpr size_t kRandomFirst = 8;
// So many policies in a row that were proposed before, and the space counts as seen.
constexpr int kMostRepeats = 64;

class PlainSearch : public Searcher {
 public:
  PlainSearch(std::shared_ptr<const Space> space, uint64_t seed)
      : space_(std::move(space)), random_(seed), proposed_{space_->standard()} {}

  std::vector<Policy> propose(size_t count) override {
    std::vector<Policy> policies;
    for (int repeats = 0; policies.size() < count && repeats < kMostRepeats;) {
      Policy policy = next();
      if (std::find(proposed_.begin(), proposed_.end(), policy) != proposed_.end()) {
        ++repeats;
        continue;
      }
      proposed_.push_back(policy);
      policies.push_back(std::move(policy));
    }
    return policies;
  }

  void learn(const Policy& policy, double share) override {
    if (share >= best_share_) return;
    best_share_ = share;
    best_ = policy;
    descends_ = false;
  }

 private:
  Policy next() {
    if (proposed_.size() <= kRandomFirst) return space_->sample(random_);
    if (!descends_) {
      neighbours_ = space_->neighbours(best_ ? *best_ : space_->standard());
      std::shuffle(neighbours_.begin(), neighbours_.end(), random_);
      descends_ = true;
    }
    if (neighbours_.empty()) return space_->sample(random_);
    Policy policy = std::move(neighbours_.back());
    neighbours_.pop_back();
    return policy;
  }

  std::shared_ptr<const Space> space_;
  Random random_;
  std::vector<Policy> proposed_;  // and the default, which everybody knows
  std::optional<Policy> best_;
  double best_share_ = 1;  // of the default's
  std::vector<Policy> neighbours_;
  bool descends_ = false;  // these are the best one's
};

}  // namespace

std::unique_ptr<Searcher> plain_search(std::shared_ptr<const Space> space, uint64_t seed) {
  return std::make_unique<PlainSearch>(std::move(space), seed);
}

}  // namespace aoe

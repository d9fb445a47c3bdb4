#pragma once

#include <functional>
#include <string>
#include <vector>

#include "search/searcher.h"
#include "tests/gym/recorded.h"

namespace aoe {

// A recorded space that searchers move in without a clock: what they propose becomes the nearest
// policy that was recorded and not asked for yet, and its recorded share is what they are told.
class GymSpace {
 public:
  explicit GymSpace(RecordedSpace recorded);

  const RecordedSpace& recorded() const { return recorded_; }
  std::shared_ptr<const Space> space() const { return space_; }
  bool is_cube() const { return space_->has_products(); }
  double best() const { return best_; }  // share
  const Policy& best_policy() const;
  // Between the default and the best known there is something to find.
  bool has_gap() const;

  // Which sample is nearest to a policy, of those that are still open; nothing if none is.
  std::optional<size_t> nearest(const Policy& policy, const std::vector<bool>& open) const;

 private:
  // A decision as what it is about and a number that says how far options are apart.
  using Point = std::vector<std::pair<std::string, double>>;
  Point point_of(const Policy& policy) const;
  static double distance(const Point& a, const Point& b);

  RecordedSpace recorded_;
  std::shared_ptr<const Space> space_;
  std::vector<Point> points_;  // of the samples
  double best_ = 1;
};

// The best share after each sample, the default's before the first.
using Curve = std::vector<double>;

// What a search in the gym begins with.
struct GymSearch {
  std::string name;
  std::function<SearchPlan(const GymSpace& space, uint64_t seed)> plan;
};
Curve searched(const GymSpace& space, const GymSearch& search, uint64_t seed, size_t samples);
// What random search comes to: the policies that were drawn from the whole space, in any order.
Curve drawn(const GymSpace& space, uint64_t seed);

// After how many samples this part of the gap between the default and the best known is closed;
// `curve.size()` if it never is.
size_t samples_until(const Curve& curve, double best, double part);

// Genetic search, tree search, descent.
std::vector<GymSearch> gym_searches();
// The one that a job takes for the workload, which begins with the best policies of the others.
GymSearch gym_search_from_bank(const std::vector<GymSpace>& all);

}  // namespace aoe

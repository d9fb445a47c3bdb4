#include "tests/gym/gym.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>

namespace aoe {
namespace {

// As many as a job asks of one workload at once, at most.
constexpr size_t kAsked = 4;
// A gap below that is what recording itself is wrong by.
constexpr double kLeastGap = 0.02;

// Numbers are as far apart as their logarithms, words as a number and its double.
double place_of(const std::string& option, size_t index) {
  int64_t number = 0;
  const char* const last = option.data() + option.size();
  const auto [end, error] = std::from_chars(option.data(), last, number);
  if (error == std::errc{} && end == last) return std::log2(static_cast<double>(number) + 1);
  return static_cast<double>(index);
}

}  // namespace

GymSpace::GymSpace(RecordedSpace recorded)
    : recorded_(std::move(recorded)),
      space_(std::make_shared<const Space>(recorded_.of.workload, recorded_.device)) {
  // What was recorded when the space was wider cannot be found in it any more.
  std::erase_if(recorded_.samples, [&](const RecordedSpace::Sample& sample) {
    const auto as_it_is = [](size_t, size_t, size_t wanted) { return wanted; };
    return space_->chosen(sample.policy, as_it_is) != sample.policy;
  });
  // Shares are of what is the default now.
  const auto is_default = [&](const auto& sample) {
    return sample.policy == space_->default_policy();
  };
  const auto default_sample =
      std::find_if(recorded_.samples.begin(), recorded_.samples.end(), is_default);
  if (default_sample != recorded_.samples.end()) {
    std::iter_swap(recorded_.samples.begin(), default_sample);
    const double share = recorded_.samples[0].share;
    for (auto& sample : recorded_.samples) sample.share /= share;
  }
  for (const auto& sample : recorded_.samples) {
    points_.push_back(point_of(sample.policy));
    best_ = std::min(best_, sample.share);
  }
}

const Policy& GymSpace::best_policy() const {
  return std::min_element(recorded_.samples.begin(), recorded_.samples.end(),
                          [](const auto& a, const auto& b) { return a.share < b.share; })
      ->policy;
}

bool GymSpace::has_gap() const { return best_ < 1 - kLeastGap; }

GymSpace::Point GymSpace::point_of(const Policy& policy) const {
  Point point;
  for (const Decision& decision : space_->decisions(policy)) {
    point.emplace_back(decision.name, place_of(decision.options[decision.chosen], decision.chosen));
  }
  return point;
}

double GymSpace::distance(const Point& a, const Point& b) {
  double sum = 0;
  // Both come in the order of the walk; what only one of them decides counts as different.
  size_t i = 0, k = 0;
  while (i < a.size() || k < b.size()) {
    if (i < a.size() && k < b.size() && a[i].first == b[k].first) {
      sum += std::min(1.0, std::abs(a[i].second - b[k].second));
      ++i, ++k;
      continue;
    }
    sum += 1;
    const bool later =
        i < a.size() && std::any_of(
                            b.begin() + static_cast<int64_t>(k), b.end(),
                            [&](const auto& one) { return one.first == a[i].first; });
    if (i < a.size() && !later) ++i;
    else ++k;
  }
  return sum;
}

std::optional<size_t> GymSpace::nearest(const Policy& policy, const std::vector<bool>& open) const {
  const Point point = point_of(policy);
  std::optional<size_t> best;
  double best_distance = std::numeric_limits<double>::infinity();
  for (size_t i = 0; i < points_.size() && best_distance > 0; ++i) {
    if (!open[i]) continue;
    const double d = distance(point, points_[i]);
    if (d < best_distance) {
      best_distance = d;
      best = i;
    }
  }
  return best;
}

Curve searched(const GymSpace& space, const GymSearch& search, uint64_t seed, size_t samples) {
  const auto memory = std::make_shared<SearchMemory>(space.space(), std::make_shared<Ranker>(),
                                                     space.space()->default_policy());
  const auto searcher = make_searcher(memory, search.plan(space, seed));
  const auto& recorded = space.recorded().samples;
  std::vector<bool> open(recorded.size(), true);
  for (size_t i = 0; i < recorded.size(); ++i) {
    if (recorded[i].policy == space.space()->default_policy()) open[i] = false;
  }
  Curve curve{1};
  // Nobody does better than the best known.
  while (curve.size() <= samples && curve.back() > space.best()) {
    const std::vector<Policy> proposed = searcher->propose(std::min(kAsked, samples));
    if (proposed.empty()) break;
    std::vector<size_t> found;
    for (const Policy& policy : proposed) {
      const auto one = space.nearest(policy, open);
      if (!one || curve.size() + found.size() > samples) break;
      open[*one] = false;
      found.push_back(*one);
    }
    if (found.empty()) break;
    for (const size_t one : found) {
      // Whoever proposed its neighbour need not propose it again.
      memory->claim(recorded[one].policy);
      searcher->learn(recorded[one].policy, recorded[one].share);
      curve.push_back(std::min(curve.back(), recorded[one].share));
    }
  }
  return curve;
}

Curve drawn(const GymSpace& space, uint64_t seed) {
  std::vector<double> shares;
  for (const auto& sample : space.recorded().samples) {
    if (sample.random) shares.push_back(sample.share);
  }
  Random random(seed);
  std::shuffle(shares.begin(), shares.end(), random);
  Curve curve{1};
  for (const double share : shares) curve.push_back(std::min(curve.back(), share));
  return curve;
}

size_t samples_until(const Curve& curve, double best, double part) {
  const double bar = 1 - part * (1 - best);
  for (size_t i = 0; i < curve.size(); ++i) {
    if (curve[i] <= bar) return i;
  }
  return curve.size();
}

std::vector<GymSearch> gym_searches() {
  const auto only = [](auto make) {
    return [make](const GymSpace&, uint64_t seed) {
      SearchPlan plan;
      plan.first = make(seed);
      return plan;
    };
  };
  return {
      {"genetic", only(genetic_search)}, {"tree", only(tree_search)}, {"descent", only(descent)}};
}

GymSearch gym_search_from_bank(const std::vector<GymSpace>& all) {
  return {"bank", [&all](const GymSpace& space, uint64_t seed) {
            SearchPlan plan;
            plan.seed = seed;
            for (const GymSpace& other : all) {
              const GymWorkload& of = other.recorded().of;
              if (of.name == space.recorded().of.name || of.family != space.recorded().of.family) {
                continue;
              }
              if (auto seeded = space.space()->adapted(other.best_policy(), *of.workload)) {
                plan.seeds.push_back(std::move(*seeded));
              }
            }
            plan.first = space.is_cube() ? genetic_search(seed) : tree_search(seed);
            return plan;
          }};
}

}  // namespace aoe

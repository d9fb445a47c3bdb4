#include "search/searcher.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <limits>
#include <set>

#include "policy/policy_text.h"
#include "policy/validate.h"
#include "tests/cpp/search_spaces.h"

namespace aoe {
namespace {

TEST(Space, TakesOverPoliciesOfOtherShapes) {
  const auto space = space_of(kProduct);
  const auto other = space_of(kOtherProduct);
  Random random(1);
  for (int i = 0; i < 50; ++i) {
    const Policy policy = other->sample(random);
    const auto adapted = space->adapted(policy, other->workload());
    ASSERT_TRUE(adapted);
    EXPECT_EQ(validate(*adapted, space->workload(), host_device()), std::nullopt);
    EXPECT_EQ(adapted->structure, policy.structure);
    const auto* there = std::get_if<ProductPolicy>(&policy.items[0]);
    if (there == nullptr || there->depth != 128) continue;
    EXPECT_EQ(std::get<ProductPolicy>(adapted->items[0]).depth,
              300);  // an undivided depth stays undivided
  }
  EXPECT_EQ(space->adapted(space_of(kSoftmax)->default_policy(), space_of(kSoftmax)->workload()),
            std::nullopt);
}

TEST(Space, KnowsItsOtherStructures) {
  const auto space = space_of(kConvolution);
  EXPECT_TRUE(space->has_products());
  EXPECT_FALSE(space_of(kSoftmax)->has_products());
  std::set<std::string> algorithms;
  for (const Policy& policy : space->other_structures()) {
    EXPECT_EQ(validate(policy, space->workload(), host_device()), std::nullopt);
    EXPECT_NE(policy.structure, space->default_policy().structure);
    algorithms.insert(
        fmt::format("{} {}", policy.structure.of(0).product, policy.structure.of(0).winograd));
  }
  // Loops, and those of product, Winograd F(2x2) and F(4x4) that are not the default.
  EXPECT_EQ(algorithms.size(), 3u);
}

TEST(Space, KeepsSquaresSquare) {
  const auto space = space_of(kTranspose);
  Policy policy = space->default_policy();
  LoopPolicy& loop = std::get<NestPolicy>(policy.items[0]).loops[0];
  loop.block = loop.lanes;
  ASSERT_GE(loop.block_axis, 0);
  const std::vector<Decision> chain = space->decisions(policy);
  for (size_t d = 0; d < chain.size(); ++d) {
    if (chain[d].name != "item 1: lanes") continue;
    const Policy other = space->with(policy, d, 1 - chain[d].chosen);
    const LoopPolicy& changed = std::get<NestPolicy>(other.items[0]).loops[0];
    EXPECT_NE(changed.lanes, loop.lanes);
    EXPECT_EQ(changed.block, changed.lanes);
    return;
  }
  FAIL() << "no decision about lanes";
}

TEST(SearchMemory, KnowsWhatIsNew) {
  const auto space = space_of(kTranspose);
  SearchMemory memory(space, std::make_shared<Ranker>(), space->default_policy());
  EXPECT_EQ(memory.novelty(space->decisions(space->default_policy())), 0);
  for (const Policy& policy : space->neighbours(space->default_policy())) {
    memory.claim(policy);
    EXPECT_EQ(memory.novelty(space->decisions(policy)), 0);
  }
  SearchMemory other(space, std::make_shared<Ranker>(), space->default_policy());
  const Policy neighbour = space->neighbours(space->default_policy())[0];
  EXPECT_EQ(other.novelty(space->decisions(neighbour)),
            1);  // there is one item, which does all the work
}

struct Kind {
  const char* name;
  std::unique_ptr<Strategy> (*make)(uint64_t seed);
};
constexpr Kind kKinds[] = {{"genetic", genetic_search},
                           {"tree", tree_search},
                           {"descent", descent},
                           {"random", random_search}};

// A simulated machine on which the time of a policy grows with its distance in decisions from a
// hidden optimum; some policies fail.
class Landscape {
 public:
  explicit Landscape(const Space& space) : space_(space) {
    Random random(5);
    Policy best = space.default_policy();
    for (int changes = 0; changes < 6;) {
      const Policy other = space.mutate(best, random);
      if (other.structure != best.structure) continue;
      best = other;
      ++changes;
    }
    best_ = space.decisions(best);
  }
  double share(const Policy& policy) const {
    double off = 0;
    const std::vector<Decision> chain = space_.decisions(policy);
    for (size_t i = 0; i < chain.size(); ++i) {
      off += i < best_.size() && chain[i].name == best_[i].name &&
                     chain[i].options[chain[i].chosen] == best_[i].options[best_[i].chosen]
                 ? 0
                 : 1;
    }
    return 0.5 * (1 + 0.2 * off);
  }

 private:
  const Space& space_;
  std::vector<Decision> best_;
};

struct LookupResult {
  std::vector<std::string> proposed;
  double best = 1;
};

LookupResult found_by(const Kind& kind, const char* text, uint64_t seed, size_t samples) {
  const auto space = space_of(text);
  const Landscape landscape(*space);
  SearchPlan plan;
  plan.first = kind.make(seed);
  const auto searcher = make_searcher(
      std::make_shared<SearchMemory>(space, std::make_shared<Ranker>(), space->default_policy()),
      std::move(plan));
  LookupResult found;
  while (found.proposed.size() < samples) {
    const std::vector<Policy> policies = searcher->propose(4);
    EXPECT_LE(policies.size(), 4u);
    if (policies.empty()) break;
    for (const Policy& policy : policies) {
      EXPECT_EQ(validate(policy, space->workload(), host_device()), std::nullopt) << kind.name;
      found.proposed.push_back(to_string(policy, space->workload()));
      const bool fails = found.proposed.size() % 11 == 0;
      const double share =
          fails ? std::numeric_limits<double>::infinity() : landscape.share(policy);
      searcher->learn(policy, share);
      found.best = std::min(found.best, share);
    }
  }
  return found;
}

TEST(Searchers, ProposeValidPoliciesOnceAndTheSameForASeed) {
  for (const char* text : {kProduct, kSoftmax, kConvolution}) {
    for (const Kind& kind : kKinds) {
      const LookupResult found = found_by(kind, text, 3, 40);
      EXPECT_GE(found.proposed.size(), 40u) << kind.name;
      std::set<std::string> distinct(found.proposed.begin(), found.proposed.end());
      distinct.insert(to_string(space_of(text)->default_policy(), space_of(text)->workload()));
      EXPECT_EQ(distinct.size(), found.proposed.size() + 1) << kind.name;
      EXPECT_EQ(found_by(kind, text, 3, 40).proposed, found.proposed) << kind.name;
    }
  }
}

TEST(Searchers, FindMoreThanChanceDoes) {
  for (const char* text : {kProduct, kSoftmax}) {
    double by_chance = 0;
    for (uint64_t seed = 1; seed <= 4; ++seed)
      by_chance += found_by(kKinds[3], text, seed, 48).best;
    for (const Kind& kind : {kKinds[0], kKinds[1], kKinds[2]}) {
      double best = 0;
      for (uint64_t seed = 1; seed <= 4; ++seed) best += found_by(kind, text, seed, 48).best;
      EXPECT_LT(best, by_chance - 0.2) << kind.name << "\n" << text;
    }
  }
}

// Shares are relative to the baseline, which may come from a bank instead of the default.
TEST(Searchers, StartFromTheBaselineAndTryTheDefault) {
  const auto space = space_of(kProduct);
  Random random(2);
  Policy baseline = space->default_policy();
  while (baseline == space->default_policy()) baseline = space->sample(random);
  SearchMemory memory(space, std::make_shared<Ranker>(), baseline);
  ASSERT_EQ(memory.seen().size(), 1u);
  EXPECT_EQ(memory.seen()[0].policy, baseline);
  EXPECT_FALSE(memory.claim(baseline));
  EXPECT_TRUE(memory.claim(space->default_policy()));
}

TEST(Searchers, TrySeedsFirstAndDescendLast) {
  const auto space = space_of(kProduct);
  Random random(2);
  SearchPlan plan = plan_for(*space, 16, 1);
  plan.seeds = {space->sample(random), space->default_policy(), space->sample(random)};
  const std::vector<Policy> seeds = plan.seeds;
  const auto searcher = make_searcher(
      std::make_shared<SearchMemory>(space, std::make_shared<Ranker>(), space->default_policy()),
      std::move(plan));
  const std::vector<Policy> first = searcher->propose(4);
  ASSERT_EQ(first.size(), 4u);
  EXPECT_EQ(first[0], seeds[0]);
  EXPECT_EQ(first[1], seeds[2]);  // the default was seen already
  searcher->learn(seeds[0], 0.5);
  for (int i = 0; i < 2; ++i) searcher->propose(4);
  const std::vector<Policy> neighbours = space->neighbours(seeds[0]);
  const std::vector<Policy> last = searcher->propose(4);
  ASSERT_EQ(last.size(), 4u);
  for (const Policy& policy : last) {
    EXPECT_NE(std::find(neighbours.begin(), neighbours.end(), policy), neighbours.end());
  }
}

TEST(Searchers, EndWhereTheSpaceDoes) {
  const char* const text = "in %0 f32[3]\n%1 f32[3] = exp(%0[a])\nout %1\n";
  for (const Kind& kind : kKinds) {
    const LookupResult found = found_by(kind, text, 1, 1000);
    EXPECT_LT(found.proposed.size(), 100u) << kind.name;
    EXPECT_GT(found.proposed.size(), 0u) << kind.name;
  }
}

}  // namespace
}  // namespace aoe

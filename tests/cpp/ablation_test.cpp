#include "tune/job/ablation.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "policy/policy_text.h"
#include "tests/cpp/search_spaces.h"

namespace aoe {
namespace {

// Returns the policy with the named decision changed to another option.
Policy changed(const Space& space, const Policy& policy, const std::string& name) {
  const std::vector<Decision> chain = space.decisions(policy);
  for (size_t d = 0; d < chain.size(); ++d) {
    if (chain[d].name == name) return space.with(policy, d, chain[d].chosen == 0 ? 1 : 0);
  }
  ADD_FAILURE() << "there is no decision " << name;
  return policy;
}

TEST(Ablation, TakesBackEachDifferenceAlone) {
  const auto space = space_of(kProduct);
  const Policy before = space->default_policy();
  const Policy one = changed(*space, before, "item 1: columns first");
  const Policy winner = changed(*space, one, "item 1: tile rows");
  const std::vector<Ablation> found = ablations(*space, winner, before);
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(found[0].of.decision, "tile rows");  // there is one item only
  EXPECT_EQ(found[0].policy, one);
  EXPECT_EQ(found[1].of.decision, "columns first");
  EXPECT_EQ(found[1].policy, changed(*space, before, "item 1: tile rows"));
  const auto& was = std::get<ProductPolicy>(before.items[0]);
  const auto& is = std::get<ProductPolicy>(winner.items[0]);
  EXPECT_EQ(found[0].of.before, std::to_string(was.rows));
  EXPECT_EQ(found[0].of.after, std::to_string(is.rows));
  EXPECT_EQ(found[1].of.before, was.columns_first ? "yes" : "no");
  EXPECT_TRUE(ablations(*space, before, before).empty());
}

TEST(Ablation, NamesTheItemWhereThereAreSeveral) {
  const auto space = space_of(kSoftmax);
  const Policy one_item = space->default_policy();
  ASSERT_EQ(one_item.items.size(), 1u);
  const Policy unrolled = changed(*space, one_item, "item 1: loop 2: unroll");
  ASSERT_EQ(ablations(*space, unrolled, one_item).size(), 1u);
  EXPECT_EQ(ablations(*space, unrolled, one_item)[0].of.decision, "loop 2: unroll");
  for (const Policy& before : space->other_structures()) {
    if (before.items.size() == 1) continue;
    const std::vector<Decision> chain = space->decisions(before);
    const auto second = std::find_if(chain.begin(), chain.end(), [](const Decision& one) {
      return one.name.starts_with("item 2: ") && one.name.ends_with("unroll");
    });
    ASSERT_NE(second, chain.end());
    const Policy winner = changed(*space, before, second->name);
    const std::vector<Ablation> found = ablations(*space, winner, before);
    ASSERT_EQ(found.size(), 1u);
    EXPECT_EQ(found[0].of.decision, second->name);
    EXPECT_EQ(found[0].policy, before);
    return;
  }
  FAIL() << "no structure has several items";
}

TEST(Ablation, TakesAnotherAlgorithmForOneDecision) {
  const auto space = space_of(kConvolution);
  const std::vector<Decision> chain = space->decisions(space->default_policy());
  const std::string name = "stage 0: winograd";
  const auto at = std::find_if(chain.begin(), chain.end(),
                               [&](const Decision& one) { return one.name == name; });
  ASSERT_NE(at, chain.end());
  const auto d = static_cast<size_t>(at - chain.begin());
  const Policy before = space->with(space->default_policy(), d, 0);
  const Policy other = space->with(before, d, 2);
  const std::vector<Ablation> alone = ablations(*space, other, before);
  ASSERT_EQ(alone.size(), 1u);
  EXPECT_EQ(alone[0].of.decision, "winograd");
  EXPECT_EQ(alone[0].of.before, "none");
  EXPECT_EQ(alone[0].of.after, "4");
  EXPECT_TRUE(alone[0].of.is_algorithm);
  EXPECT_EQ(alone[0].policy, before);
  // A decision within another algorithm is compared with that algorithm's default.
  const std::vector<Decision> others = space->decisions(other);
  const auto rows = std::find_if(others.begin(), others.end(), [](const Decision& one) {
    return one.name.ends_with(": tile rows");
  });
  ASSERT_NE(rows, others.end());
  const std::vector<Ablation> both = ablations(*space, changed(*space, other, rows->name), before);
  ASSERT_EQ(both.size(), 2u);
  EXPECT_EQ(both[0].policy, before);
  EXPECT_EQ(both[1].of.decision, "tile rows");
  EXPECT_EQ(both[1].policy, other);
}

OpenedModel three_workloads() {
  OpenedModel opened;
  opened.workloads.resize(3);
  for (OpenWorkload& one : opened.workloads) one.baseline_ns = 1e8;
  return opened;
}

Ablated ablated(int workload, const std::vector<std::string>& names) {
  Ablated one{{workload, "winner"}, {}};
  for (const std::string& name : names)
    one.without.push_back({{name, "1", "2"}, "without " + name});
  return one;
}

TEST(Ablation, NamesAnotherAlgorithm) {
  Structure direct;
  direct.stages.resize(1);
  direct.stages[0].product = true;
  Structure tiles = direct;
  tiles.stages[0].winograd = 4;
  Structure halves = direct;
  halves.stages[0].strassen = true;
  const auto said = [](const Structure& after, const Structure& before, size_t stages) {
    const DecisionLoss found = changed_algorithm(after, before, stages);
    EXPECT_EQ(found.is_algorithm, !found.decision.empty());
    EXPECT_FALSE(found.loss);
    return to_string(Explanation{{true, 1, 1}, {true, 1, 1}, {found}});
  };
  const std::string roof = "100 % -> 100 % of peak; ";
  EXPECT_FALSE(changed_algorithm(tiles, tiles, 1).is_algorithm);
  EXPECT_EQ(said(halves, direct, 1), roof + "strassen no -> yes");
  EXPECT_EQ(said(tiles, direct, 2), roof + "stage 0: winograd none -> 4");
  EXPECT_EQ(said(halves, tiles, 1), roof + "winograd, strassen 4, no -> none, yes");
}

TEST(Ablation, PutsAnotherAlgorithmFirst) {
  Random random(1);
  Ablated one = ablated(0, {"a", "b", "c", "d"});
  one.without[3].of.is_algorithm = true;
  const AblationPasses passes({one}, three_workloads(), random);
  const std::map<std::string, double> truth{
      {"winner", 80}, {"without a", 110}, {"without b", 100}, {"without c", 90}, {"without d", 88}};
  PassesResult measured;
  for (const Assignment& assignment : passes.wanted().passes) {
    Pass pass;
    for (const CandidateId id : assignment.workloads) {
      pass.workload_ns.push_back(id == CandidateId::baseline
                                     ? 100
                                     : truth.at(passes.wanted().candidates[index_of(id)].choice));
    }
    measured.passes.push_back(pass);
  }
  const std::vector<DecisionLoss> losses = passes.losses(measured)[0];
  ASSERT_EQ(losses.size(), 3u);
  EXPECT_EQ(losses[0].decision, "d");
  EXPECT_EQ(losses[1].decision, "a");
  EXPECT_EQ(losses[2].decision, "b");
}

TEST(Ablation, TriesWhatThereIsTimeFor) {
  const std::vector<size_t> counts{3, 0, 1, 2};
  struct Case {
    AblationCost cost;
    std::vector<size_t> left;
  };
  // The first ablation of all winners costs ten passes, the second of all five more, and so on.
  for (const Case& c : {
           Case{{0, 1, 0}, {0, 0, 0, 0}},
           Case{{2, 1, 0}, {1, 0, 1, 0}},
           Case{{4, 1, 0}, {2, 0, 1, 1}},
           Case{{100, 1, 0}, {3, 0, 1, 2}},
           Case{{9, 0.1, 1}, {0, 0, 0, 0}},
           Case{{11, 0.1, 1}, {1, 0, 1, 1}},
           Case{{16, 0.1, 1}, {2, 0, 1, 2}},
       }) {
    EXPECT_EQ(affordable(counts, c.cost), c.left);
  }
  EXPECT_TRUE(affordable({}, {.allowed_s = 1}).empty());
}

TEST(Ablation, RanksByWhatIsLost) {
  Random random(1);
  const AblationPasses passes({ablated(2, {"a", "b", "c", "d", "e", "f"}), ablated(0, {"g"})},
                              three_workloads(), random);
  // True time of each policy; one run is disturbed below.
  const std::map<std::string, double> truth{
      {"winner", 80},     {"without a", 84}, {"without b", 80.4}, {"without c", 400},
      {"without d", 100}, {"without e", 88}, {"without f", 70},   {"without g", 81}};
  PassesResult measured;
  std::map<std::string, int> runs;
  for (const Assignment& assignment : passes.wanted().passes) {
    ASSERT_EQ(assignment.workloads.size(), 3u);
    EXPECT_EQ(assignment.workloads[1], CandidateId::baseline);  // has no winner
    Pass pass;
    for (size_t w = 0; w < assignment.workloads.size(); ++w) {
      const CandidateId id = assignment.workloads[w];
      if (id == CandidateId::baseline) {
        pass.workload_ns.push_back(100);
        continue;
      }
      const Candidate& one = passes.wanted().candidates[index_of(id)];
      EXPECT_EQ(one.workload, static_cast<int>(w));
      const int run = w == 2 ? runs[one.choice]++ : 1;
      // Abandoned after two runs that were too slow.
      const bool gone = one.choice == "without c" && run >= 2;
      pass.workload_ns.push_back(gone ? std::nan("") : truth.at(one.choice) * (run == 3 ? 2 : 1));
    }
    measured.passes.push_back(pass);
  }
  for (const auto& [policy, count] : runs) EXPECT_EQ(count, 5) << policy;
  const auto losses = passes.losses(measured);
  ASSERT_EQ(losses.size(), 2u);
  ASSERT_EQ(losses[0].size(), 3u);
  EXPECT_EQ(losses[0][0].decision, "c");
  EXPECT_EQ(losses[0][1].decision, "d");
  EXPECT_NEAR(*losses[0][1].loss, 0.25, 1e-9);
  EXPECT_EQ(losses[0][2].decision, "e");
  ASSERT_EQ(losses[1].size(), 1u);
  EXPECT_NEAR(*losses[1][0].loss, 1.0 / 80, 1e-9);
  // No measurements (a lost process) give no losses.
  for (const auto& none : passes.losses({})) EXPECT_TRUE(none.empty());
}

TEST(Explanation, IsOneShortLine) {
  Explanation why{{true, 64, 0.64}, {true, 81, 0.81}, {}};
  EXPECT_EQ(to_string(why), "64 % -> 81 % of peak");
  why.decisions = {{"tile rows", "8", "5", 0.07}, {"block depth", "300", "150", 0.031}};
  EXPECT_EQ(to_string(why),
            "64 % -> 81 % of peak; tile rows 8 -> 5 (7 %), block depth 300 -> 150 (3 %)");
  why = {{false, 20, 0.5}, {false, 40, 1}, {}};
  EXPECT_EQ(to_string(why), "50 % -> 100 % of the memory's rate");
}

}  // namespace
}  // namespace aoe

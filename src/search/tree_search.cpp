#include <algorithm>
#include <cmath>
#include <limits>

#include "search/searcher.h"

// Monte-Carlo tree search over the chain of decisions (policy/space.h), with PUCT as in AlphaZero:
// the ranker gives the priors and, instead of the outcome of a random playout, the value of a leaf.
//
//   inside the tree    root -- option -- option -- leaf            best_option (PUCT)
//   beyond it                                      leaf - - - -> policy
//                                                  mostly as in the best known policy
//
// In reading order: compute_priors (priors, from policies that differ in one decision), rollout and
// expand (one pass through the chain; a rollout adds one node's options to the tree), leaves (all
// rollouts, scored in batches), TreeSearch::propose (selects the leaves to measure).
//
// Scores are -log2 of the expected share of the baseline's time: 1 is half of the time.
//
// Invariant: nothing is measured here. A tree lives for one call of propose, since measurements
// change the ranker; what persists is in the SearchMemory.

namespace aoe {
namespace {

// Scoring a batch is cheaper than scoring policies one by one. But visits count at once and scores
// only after the batch, so that pending visits pull a node's mean towards 0: six batches of 24 are
// a compromise.
constexpr int kBatches = 6;
constexpr int kRollouts = 24;
// The weight of the exploration term of PUCT, in units of the scores.
constexpr double kExploration = 1;
// Beyond the tree, the probability that a decision differs from the policy that the rollout starts
// from.
constexpr double kChanged = 0.12;
// Factor on the prior of the option that the start policy has: most decisions of a good policy are
// good.
constexpr double kTrusted = 2;
// The temperature of the priors' softmax: a difference of scores that is worth a factor of e.
constexpr double kSpread = 0.5;
// A ranker with few samples cannot tell most leaves apart. A leaf loses kDoubt for each decision
// that differs from the best known policy, and gains kCuriosity times its novelty
// (SearchMemory::novelty).
constexpr double kDoubt = 0.1;
constexpr double kCuriosity = 0.1;
// One in kBold proposals ignores kDoubt: a better policy may be several changes away, each of which
// alone is worse.
constexpr size_t kBold = 4;

// A prefix of choices.
struct Node {
  std::vector<std::unique_ptr<Node>> options;  // of the next decision; empty: a leaf of the tree
  std::vector<double> prior;                   // of each option
  double total = 0;                            // sum of the scores of its rollouts
  int visits = 0;

  double mean() const { return visits == 0 ? 0 : total / visits; }
};

// The path of one rollout through the tree, and the policy that it ended with.
struct Rollout {
  std::vector<Node*> path;
  Policy policy;
  int changes = 0;  // decisions that differ from the policy it started from
};

struct Leaf {
  Policy policy;
  double score;
  int changes;
  std::vector<Decision> decisions;
};

class Tree {
 public:
  Tree(const SearchMemory& memory, Random& random)
      : memory_(memory), random_(random), from_(memory.seen()[0].policy) {
    compute_priors();
  }

  // Returns the policies of all rollouts that were not proposed before. Shuffled, so that the order
  // of decisions does not break ties between equal scores.
  std::vector<Leaf> leaves() {
    for (int batch = 0; batch < kBatches; ++batch) {
      std::vector<Rollout> rollouts;
      std::vector<Policy> policies;
      for (int i = 0; i < kRollouts; ++i) {
        rollouts.push_back(rollout());
        policies.push_back(rollouts.back().policy);
      }
      const std::vector<double> expected = memory_.expected(policies);
      for (size_t i = 0; i < rollouts.size(); ++i) {
        for (Node* node : rollouts[i].path) node->total -= expected[i];
        add_leaf(std::move(policies[i]), -expected[i], rollouts[i].changes);
      }
    }
    std::shuffle(leaves_.begin(), leaves_.end(), random_);
    return std::move(leaves_);
  }

 private:
  void add_leaf(Policy policy, double score, int changes) {
    const bool known = std::any_of(leaves_.begin(), leaves_.end(),
                                   [&](const Leaf& leaf) { return leaf.policy == policy; }) ||
                       memory_.is_claimed(policy);
    if (known) return;
    std::vector<Decision> decisions = memory_.space().decisions(policy);
    leaves_.push_back({std::move(policy), score, changes, std::move(decisions)});
  }

  // Computes the priors of a decision as a softmax over the scores of the policies that differ from
  // `from_` in that decision. Those policies become leaves too.
  void compute_priors() {
    const Space& space = memory_.space();
    const std::vector<Decision> chain = space.decisions(from_);
    std::vector<Policy> policies;
    for (size_t d = 0; d < chain.size(); ++d) {
      for (size_t option = 0; option < chain[d].options.size(); ++option) {
        policies.push_back(space.with(from_, d, option));
      }
    }
    const std::vector<double> expected = memory_.expected(policies);
    size_t next = 0;
    for (const Decision& decision : chain) {
      std::vector<double> prior;
      for (size_t option = 0; option < decision.options.size(); ++option) {
        const double trust = option == decision.chosen ? kTrusted : 1;
        prior.push_back(trust * std::exp(-expected[next++] / kSpread));
      }
      priors_.push_back(normal(std::move(prior)));
    }
    for (size_t i = 0; i < policies.size(); ++i) add_leaf(std::move(policies[i]), -expected[i], 1);
  }

  static std::vector<double> normal(std::vector<double> weights) {
    double sum = 0;
    for (const double weight : weights) sum += weight;
    for (double& weight : weights) weight /= sum;
    return weights;
  }

  Rollout rollout() {
    Rollout way;
    way.path.push_back(&root_);
    bool inside = true;
    way.policy = memory_.space().chosen(from_, [&](size_t d, size_t count, size_t wanted) {
      size_t option;
      if (inside) {
        Node& node = *way.path.back();
        inside = !node.options.empty();
        if (!inside) expand(node, d, count);
        option = best_option(node);
        way.path.push_back(node.options[option].get());
      } else {
        option = beyond(count, wanted);
      }
      if (option != wanted) ++way.changes;
      return option;
    });
    for (Node* node : way.path) ++node->visits;
    return way;
  }

  void expand(Node& node, size_t decision, size_t count) {
    for (size_t i = 0; i < count; ++i) node.options.push_back(std::make_unique<Node>());
    // Earlier choices may have changed the options of a decision; its prior is then uniform.
    const bool same = decision < priors_.size() && priors_[decision].size() == count;
    node.prior = same ? priors_[decision] : normal(std::vector<double>(count, 1.0));
  }

  // PUCT: mean + kExploration * prior * sqrt(1 + visits of the node) / (1 + visits of the option).
  // Options without visits get the node's mean, not 0: scores have no natural zero.
  size_t best_option(const Node& node) {
    size_t best = 0;
    double best_value = -std::numeric_limits<double>::infinity();
    for (size_t i = 0; i < node.options.size(); ++i) {
      const Node& option = *node.options[i];
      const double value =
          (option.visits == 0 ? node.mean() : option.mean()) +
          kExploration * node.prior[i] * std::sqrt(node.visits + 1.0) / (option.visits + 1.0);
      if (value > best_value) {
        best_value = value;
        best = i;
      }
    }
    return best;
  }

  size_t beyond(size_t count, size_t wanted) {
    const bool changed = std::uniform_real_distribution<double>(0, 1)(random_) < kChanged;
    return changed ? std::uniform_int_distribution<size_t>(0, count - 1)(random_) : wanted;
  }

  const SearchMemory& memory_;
  Random& random_;
  Policy from_;
  std::vector<std::vector<double>> priors_;  // by decision
  std::vector<Leaf> leaves_;                 // policies that were not proposed before
  Node root_;
};

class TreeSearch : public Strategy {
 public:
  explicit TreeSearch(uint64_t seed) : random_(seed), rest_(random_search(seed)) {}

  std::vector<Policy> propose(size_t count, SearchMemory& memory) override {
    std::vector<Policy> policies;
    // A new tree, since the ranker has changed.
    std::vector<Leaf> leaves = Tree(memory, random_).leaves();
    while (policies.size() < count && !leaves.empty()) {
      const auto best = most_promising(leaves, memory);
      memory.claim(best->policy);
      policies.push_back(std::move(best->policy));
      leaves.erase(best);
    }
    // Too few new leaves: most policies near the best one are known, so the rest is random.
    for (Policy& policy : rest_->propose(count - policies.size(), memory)) {
      policies.push_back(std::move(policy));
    }
    return policies;
  }

 private:
  // Evaluated for every proposal, because each one reduces the novelty of the others.
  std::vector<Leaf>::iterator most_promising(std::vector<Leaf>& leaves,
                                             const SearchMemory& memory) {
    const double doubt = ++proposed_ % kBold == 0 ? 0 : kDoubt;
    std::vector<double> values;
    for (const Leaf& leaf : leaves) {
      values.push_back(leaf.score - doubt * leaf.changes +
                       kCuriosity * memory.novelty(leaf.decisions));
    }
    return leaves.begin() + (std::max_element(values.begin(), values.end()) - values.begin());
  }

  Random random_;
  std::unique_ptr<Strategy> rest_;
  size_t proposed_ = 0;
};

}  // namespace

std::unique_ptr<Strategy> tree_search(uint64_t seed) { return std::make_unique<TreeSearch>(seed); }

}  // namespace aoe

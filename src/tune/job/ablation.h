#pragma once

#include <functional>
#include <string>
#include <vector>

#include "bank/gain.h"
#include "policy/space.h"
#include "search/search_memory.h"
#include "tune/job/explanation.h"
#include "tune/runner/runner.h"

namespace aoe {

// Explains why policies are faster than their baselines: each decision in which the two differ is
// reverted alone, and the resulting policy is timed in turns with the proven one.

// A policy with one of its decisions reverted.
struct Ablation {
  DecisionLoss of;  // without the loss, which is not known yet
  Policy policy;
};

// All decisions that can be reverted alone, in their order. A different structure (algorithm,
// placement of stages) counts as one decision. The decisions about its items are compared with that
// structure's default, because the items of `before` are others.
std::vector<Ablation> ablations(const Space& space, const Policy& policy, const Policy& before);

// The change of algorithm between two structures with that many stages, as one decision without a
// loss; not is_algorithm if there is none.
DecisionLoss changed_algorithm(const Structure& after, const Structure& before, size_t stages);

// The allowed and the estimated cost of trying ablations.
struct AblationCost {
  double allowed_s = 0;    // for all ablations together
  double candidate_s = 0;  // to compile and check one
  double pass_s = 0;       // of one pass over the model
};

// For each winner with `counts` ablations: how many there is time for. The first of every winner
// comes before the second of any.
std::vector<size_t> affordable(const std::vector<size_t>& counts, const AblationCost& cost);

// A proven policy and its ablations, as texts.
struct Ablated {
  struct Without {
    DecisionLoss of;
    std::string policy;
  };
  Candidate winner;
  std::vector<Without> without;
};

// Composes the passes over the model in which all ablations take turns with their winners, and
// evaluates their times.
class AblationPasses {
 public:
  AblationPasses(std::vector<Ablated> all, const OpenedModel& opened, Random& random);

  const PassesRequest& wanted() const { return wanted_; }

  // For each winner: the decisions that matter most, largest loss first.
  std::vector<std::vector<DecisionLoss>> losses(const PassesResult& measured) const;

 private:
  // For each run and candidate: the first time of the candidate in the run; infinite if it failed.
  std::vector<std::vector<double>> runs_ns(const PassesResult& measured) const;

  std::vector<Ablated> all_;
  double least_loss_;  // smaller losses are not reported: they may be noise
  size_t runs_ = 0;
  PassesRequest wanted_;  // candidates: each winner, followed by its ablations
};

// A proven policy to be explained.
struct Winner {
  Candidate candidate;
  Gain gain;                             // of one use
  const SearchMemory* memory = nullptr;  // of its workload
};

// Explains each winner; `winners` are sorted by importance. Makes at most two requests (compile,
// then time), and none if there is no time: then explanations have only the roofline position. The
// result is a function of the arguments and the answers.
std::vector<Explanation> explained(const std::vector<Winner>& winners, const OpenedModel& opened,
                                   const AblationCost& cost,
                                   const std::function<Answer(const Request&)>& ask,
                                   Random& random);

}  // namespace aoe

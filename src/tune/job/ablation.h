#pragma once

#include <functional>
#include <string>
#include <vector>

#include "bank/gain.h"
#include "policy/space.h"
#include "search/search_memory.h"
#include "tune/job/explanation.h"
#include "tune/machine/machine.h"

namespace aoe {

// Why policies are faster than what they replaced: each decision in which the two differ is taken
// back alone, and what that costs is measured beside the policy itself.

// A policy with one of its decisions taken back.
struct Ablation {
  DecisionLoss of;  // its loss is not known yet
  Policy policy;
};

// All that can be taken back alone, in the order of decisions. Another structure (which algorithm,
// where stages are computed) counts as one decision, and what is decided about its items is
// compared with that structure's default: the items of the policy before are others.
std::vector<Ablation> ablations(const Space& space, const Policy& policy, const Policy& before);

// What trying ablations costs, as far as is known before.
struct AblationCost {
  double allowed_s = 0;    // for all of it
  double candidate_s = 0;  // to compile one, and to check it
  double pass_s = 0;       // over the model
};

// Of each winner's `counts` ablations, how many there is time for: the first of each, then the
// second of each.
std::vector<size_t> affordable(const std::vector<size_t>& counts, const AblationCost& cost);

// A policy that was proven better, and texts of what it is without each of its decisions.
struct Ablated {
  struct Without {
    DecisionLoss of;
    std::string policy;
  };
  Candidate winner;
  std::vector<Without> without;
};

// Passes over the model in which all ablations take turns with their winners.
class AblationPasses {
 public:
  AblationPasses(std::vector<Ablated> all, const Opened& opened, Random& random);

  const PassesRequest& wanted() const { return wanted_; }

  // For each winner its decisions that matter most, the largest loss first.
  std::vector<std::vector<DecisionLoss>> losses(const PassesResult& measured) const;

 private:
  // For each run, what each candidate took at first; infinite if it was abandoned.
  std::vector<std::vector<double>> runs_ns(const PassesResult& measured) const;

  std::vector<Ablated> all_;
  double least_loss_;  // that is told: what is below may as well be the machine's noise
  size_t runs_ = 0;
  PassesRequest wanted_;  // candidates: each winner, and behind it what it is without a decision
};

// A winner as a job knows it.
struct Winner {
  Candidate candidate;
  Gain gain;                             // of one use
  const SearchMemory* memory = nullptr;  // of its workload
};

// Of each winner, the most important first. Asks for work twice at most, and not at all if there is
// no time for any: only what bounds the workload is said then. A function of what it is answered.
std::vector<Explanation> explained(const std::vector<Winner>& winners, const Opened& opened,
                                   const AblationCost& cost,
                                   const std::function<Answer(const Request&)>& ask,
                                   Random& random);

}  // namespace aoe

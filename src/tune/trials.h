#pragma once

#include <optional>
#include <span>
#include <vector>

#include "bank/gain.h"
#include "measure/proof.h"
#include "measure/race.h"
#include "policy/space.h"
#include "tune/machine.h"

namespace aoe {

// What passes over a model are to be timed, and what their times say. In one pass every workload
// runs by a candidate of its own, so that all of them are compared at once; each has its own random
// order, so that what one does to another's caches falls on both sides alike.

// What the workloads of one pass take together, as they were opened.
double pass_ns(const Opened& opened);

// Of passes in a block: so many that it takes as long as one of a workload alone would, but enough
// for a middle one.
size_t block_pairs(const Opened& opened);
size_t block_pairs(double pass_ns);

// Passes in which each workload runs by all that are listed for it, in random order, so many times
// over. Whose list is shorter runs by its first one in what is left.
std::vector<Assignment> interleaved(std::vector<std::vector<Candidate>> turns, size_t runs,
                                    Random& random);

// A first look at candidates, each beside the policy that stands.
class Screening {
 public:
  Screening(std::vector<Proposal> candidates, const Opened& opened, Random& random);

  const PassesWanted& wanted() const { return wanted_; }

  // Of each candidate's shortest time, the part of the standing policy's. Infinite for one that
  // failed or was hopeless; NaN for one to be timed again, because its time was below what the
  // machine can do or another ended the process.
  std::vector<double> shares(const PassesResult& measured) const;

 private:
  const Opened& opened_;
  PassesWanted wanted_;
};

// Races of all workloads at once.
class Races {
 public:
  Races(size_t workloads, std::vector<Proposal> entrants, Random& random);

  bool over() const;
  double share() const;  // that is done
  PassesWanted next();   // some rounds
  void add(const PassesResult& measured);
  // Which entrant was faster than all others of its workload and than the policy that stands.
  std::optional<size_t> winner(int workload) const;
  // How many times as fast as the policy that stands an entrant was; 0: it failed or never ran.
  double speed_up(size_t entrant) const;

 private:
  struct One {
    int workload = 0;
    std::vector<size_t> entrants;                // participant 0 is the policy that stands
    std::vector<std::vector<double>> rounds_ns;  // as race_of wants them
    Race race;
  };

  static Candidate candidate_of(const One& one, size_t participant) {
    return participant == 0 ? 0 : static_cast<Candidate>(one.entrants[participant - 1]) + 1;
  }
  void add_round(One& one, const std::vector<Assignment>& asked, std::span<const Pass> passes);

  size_t workloads_;
  std::vector<Proposal> entrants_;
  Random& random_;
  std::vector<One> races_;
  std::vector<bool> failed_;                    // of the entrants
  std::vector<std::vector<Assignment>> asked_;  // for each round its passes
  size_t rounds_ = 0;
};

// What the blocks of a proof have shown so far.
struct Evidence {
  std::vector<double> speed_ups;  // of the blocks
  std::vector<double> before_ns;  // of all pairs
};

// The time before is the one in the middle of all pairs, the time after what the proven ratio makes
// of it; of the noise nothing is known here.
Gain proven_gain(const std::vector<double>& before_ns, const Proof& proof);

// Proofs of candidates against the policies that stand, on pairs of passes, block by block, each
// from a process that has run nothing yet.
class Proofs {
 public:
  // What changes together, and is compared as one: candidates by number. `whole`: by the time of
  // whole passes, otherwise of the candidates' own workloads.
  Proofs(size_t workloads, std::vector<Proposal> candidates,
         std::vector<std::vector<size_t>> groups, bool whole, size_t pairs,
         const ProofOptions& options, Random& random);

  // Goes on with a proof that was left before it was decided.
  void resume(size_t group, Evidence evidence);

  bool over() const;
  double share() const;  // that is done
  PassesWanted next();   // one block
  void add(const PassesResult& measured);

  const Proof& proof(size_t group) const { return groups_[group].proof; }
  const Evidence& evidence(size_t group) const { return groups_[group].evidence; }
  Gain gain(size_t group) const;

 private:
  struct Group {
    std::vector<size_t> candidates;
    Evidence evidence;
    Proof proof;
  };

  double time_of(const Group& group, const Pass& pass) const;

  size_t workloads_;
  std::vector<Proposal> candidates_;
  std::vector<Group> groups_;
  bool whole_;
  size_t pairs_;
  ProofOptions options_;
  Random& random_;
  std::vector<std::vector<bool>> candidate_first_;  // of the block asked for: by pair and group
  size_t blocks_ = 0;
  size_t losses_ = 0;  // blocks that came to nothing
};

}  // namespace aoe

#pragma once

#include <optional>
#include <span>
#include <vector>

#include "bank/gain.h"
#include "measure/statistics/proof.h"
#include "measure/statistics/race.h"
#include "measure/statistics/screen.h"
#include "policy/space.h"
#include "tune/machine/machine.h"

namespace aoe {

// What passes over a model are to be timed, and what their times say. In one pass every workload
// runs by one candidate, so that all of them are compared at once; each has a separate random
// order, so that what one does to another's caches falls on both sides alike.

// What the workloads of one pass take together, as they were opened.
double pass_ns(const Opened& opened);

// Of passes in a block: so many that it takes as long as one of a workload alone would, but enough
// for a middle one.
size_t block_pairs(const Opened& opened);

// Passes in which each workload runs by all that are listed for it, in random order, so many times
// over. Whose list is shorter runs by its first one in what is left.
std::vector<Assignment> interleave_passes(std::vector<std::vector<CandidateId>> turns, size_t runs,
                                          Random& random);

// A first look at candidates, each beside the baseline policy.
class Screening {
 public:
  // `runs` of each comparison: half of them by the candidate, half by the baseline, at least one
  // each.
  Screening(std::vector<Candidate> candidates, const Opened& opened, size_t runs, Random& random);

  const PassesRequest& wanted() const { return wanted_; }

  // Of each candidate's shortest time, the part of the baseline policy's. Infinite for one that
  // failed or was hopeless; NaN for one to be timed again, because its time was below what the
  // machine can do or another ended the process.
  std::vector<double> shares(const PassesResult& measured) const;

 private:
  const Opened& opened_;
  ScreenOptions options_;
  PassesRequest wanted_;
};

// Races of all workloads at once.
class Races {
 public:
  Races(size_t workloads, std::vector<Candidate> entrants, Random& random);

  bool over() const;
  double share() const;  // that is done
  PassesRequest next();  // some rounds
  void add(const PassesResult& measured);
  // Which entrant was faster than all others of its workload and than the baseline policy.
  std::optional<size_t> winner(int workload) const;
  // How many times as fast as the baseline policy an entrant was; 0: it failed or never ran.
  double speed_up(size_t entrant) const;

 private:
  struct One {
    int workload = 0;
    std::vector<size_t> entrants;                // participant 0 is the baseline policy
    std::vector<std::vector<double>> rounds_ns;  // as race_of wants them
    Race race;
  };

  static CandidateId id_of_participant(const One& one, size_t participant) {
    return participant == 0 ? CandidateId::baseline : id_of(one.entrants[participant - 1]);
  }
  void add_round(One& one, const std::vector<Assignment>& asked, std::span<const Pass> passes);

  size_t workloads_;
  std::vector<Candidate> entrants_;
  Random& random_;
  std::vector<One> races_;
  std::vector<bool> failed_;                    // of the entrants
  std::vector<std::vector<Assignment>> asked_;  // for each round its passes
  size_t rounds_ = 0;
};

// What the blocks of a proof have shown so far.
struct ProofSamples {
  std::vector<double> speed_ups;  // of the blocks
  std::vector<double> before_ns;  // of all pairs
};

// Proofs of candidates against the baseline, on pairs of passes, block by block, each from a
// process that has run nothing yet.
class Proofs {
 public:
  // What changes together, and is compared as one: candidates by index. `whole`: by the time of
  // whole passes, as plans must be; otherwise of the candidates' workloads.
  Proofs(size_t workloads, std::vector<Candidate> candidates,
         std::vector<std::vector<size_t>> groups, bool whole, size_t pairs,
         const ProofOptions& options, Random& random);

  // Goes on with a proof that was left before it was decided.
  void resume(size_t group, ProofSamples evidence);

  bool over() const;
  double share() const;  // that is done
  PassesRequest next();  // one block
  void add(const PassesResult& measured);

  const Proof& proof(size_t group) const { return groups_[group].proof; }
  const ProofSamples& evidence(size_t group) const { return groups_[group].evidence; }
  // The time before is the one in the middle of all pairs, the time after what the proven ratio
  // makes of it; of the noise nothing is known here.
  Gain gain(size_t group) const;

 private:
  struct Group {
    std::vector<size_t> candidates;
    ProofSamples evidence;
    Proof proof;
  };

  double time_of(const Group& group, const Pass& pass) const;

  size_t workloads_;
  std::vector<Candidate> candidates_;
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

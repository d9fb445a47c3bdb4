#pragma once

#include <limits>
#include <optional>
#include <span>
#include <vector>

#include "bank/gain.h"
#include "measure/statistics/proof.h"
#include "measure/statistics/race.h"
#include "measure/statistics/screen.h"
#include "policy/space.h"
#include "tune/runner/runner.h"

namespace aoe {

// Composes the timed passes over a model and evaluates their times. In a pass every workload runs
// by one of its candidates, so that one pass is a sample for all workloads. Each workload has a
// separate random order, so that its effects on the caches of others fall on both sides alike.

// Time of all workloads in one pass of the baseline.
double pass_ns(const OpenedModel& opened);

// Number of pairs of passes per block: fills the time of a block (BlockOptions::block_ns), but at
// least enough for a median and at most 64.
size_t block_pairs(const OpenedModel& opened);

// Composes `runs` runs of passes; in each run, each workload runs by all candidates of its list in
// random order. Shorter lists are padded with their first candidate.
std::vector<Assignment> interleave_passes(std::vector<std::vector<CandidateId>> turns, size_t runs,
                                          Random& random);

// Whether a candidate failed in these passes. If they were lost, it is to blame.
bool has_culprit(const PassesResult& measured);

struct ScreenResult {
  Screened screened = Screened::not_timed;
  // Minimum time divided by the baseline's minimum, of a candidate that was kept.
  double relative_time = std::numeric_limits<double>::infinity();
};

// Screens candidates: few runs each, interleaved with the baseline.
class Screening {
 public:
  // `runs` is the number of runs of a comparison: half of them by the candidate and half by the
  // baseline, rounded up.
  Screening(std::vector<Candidate> candidates, const OpenedModel& opened, size_t runs,
            Random& random);

  const PassesRequest& wanted() const { return wanted_; }

  // In the order of the candidates.
  std::vector<ScreenResult> results(const PassesResult& measured) const;

 private:
  const OpenedModel& opened_;
  ScreenOptions options_;
  PassesRequest wanted_;
};

// Races of several workloads, run in the same passes.
class Races {
 public:
  Races(size_t workloads, std::vector<Candidate> entrants, Random& random);

  bool over() const;
  double share() const;  // completed share
  PassesRequest next();  // the passes of some rounds
  void add(const PassesResult& measured);
  // The fastest remaining entrant of a workload, if its median speed-up over the baseline exceeds
  // 1.
  std::optional<size_t> winner(int workload) const;
  // Median speed-up of an entrant over the baseline; 0 if it failed or never ran.
  double speed_up(size_t entrant) const;

 private:
  struct One {
    int workload = 0;
    std::vector<size_t> entrants;                // participants from 1 on; 0 is the baseline
    std::vector<std::vector<double>> rounds_ns;  // input of race_of
    Race race;
  };

  static CandidateId id_of_participant(const One& one, size_t participant) {
    return participant == 0 ? CandidateId::baseline : id_of(one.entrants[participant - 1]);
  }
  // Whether a participant failed: it is not run again, and is last in every further round.
  bool is_out(const One& one, size_t participant) const {
    return participant > 0 && failed_[one.entrants[participant - 1]];
  }
  void add_round(One& one, const std::vector<Assignment>& asked, std::span<const Pass> passes);

  size_t workloads_;
  std::vector<Candidate> entrants_;
  Random& random_;
  std::vector<One> races_;
  std::vector<bool> failed_;                    // for each entrant
  std::vector<std::vector<Assignment>> asked_;  // for each round of the latest request: its passes
  size_t rounds_ = 0;                           // completed
  size_t losses_ = 0;  // requests without times, because the worker was lost
};

// The evidence of a proof so far.
struct ProofSamples {
  std::vector<double> speed_ups;  // for each block
  std::vector<double> before_ns;  // the baseline's time, for each pair of all blocks
};

// Proofs of candidates against the baseline, all in the same pairs of passes. Each block comes from
// a fresh process.
class Proofs {
 public:
  // Each group lists candidates, by index, that are compared with the baseline together. `whole`
  // compares the times of whole passes, as plans require; otherwise the times of the candidates'
  // workloads.
  Proofs(size_t workloads, std::vector<Candidate> candidates,
         std::vector<std::vector<size_t>> groups, bool whole, size_t pairs,
         const ProofOptions& options, Random& random);

  // Continues an undecided proof with its earlier evidence.
  void resume(size_t group, ProofSamples evidence);

  bool over() const;
  double share() const;  // completed share
  PassesRequest next();  // the passes of one block
  void add(const PassesResult& measured);

  const Proof& proof(size_t group) const { return groups_[group].proof; }
  const ProofSamples& evidence(size_t group) const { return groups_[group].evidence; }
  // before_ns is the median of the baseline's time over all pairs, after_ns the same divided by the
  // median speed-up. The noise floor is not set.
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
  std::vector<std::vector<bool>> candidate_first_;  // in the latest request: by pair and group
  size_t blocks_ = 0;
  size_t losses_ = 0;  // blocks without times, because the worker was lost
};

}  // namespace aoe

#pragma once

#include <limits>
#include <optional>
#include <span>
#include <vector>

#include "measure/statistics/race.h"
#include "measure/statistics/screen.h"
#include "policy/space.h"
#include "tune/runner/runner.h"

namespace aoe {

// Composes the timed passes over a model and evaluates their times, for screening and for races;
// paired_blocks.h has the comparisons that decide. In a pass every workload runs
// by one of its candidates, so that one pass is a sample for all workloads. Each workload has a
// separate random order, so that its effects on the caches of others fall on both sides alike.

// Composes `runs` runs of passes; in each run, each workload runs by all candidates of its list in
// random order. Shorter lists are padded with their first candidate.
std::vector<Assignment> interleave_passes(std::vector<std::vector<CandidateId>> turns, size_t runs,
                                          Random& random);

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

}  // namespace aoe

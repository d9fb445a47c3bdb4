#pragma once

#include <functional>
#include <vector>

#include "tune/job/job_state.h"

namespace aoe {

// Tests what the search of a round has found: the best candidates of each workload race, and the
// winners are confirmed in new processes. A policy races once. Later finalists race against the
// workload's challenger, which is being confirmed, or else against its proven policy. The winner
// becomes the challenger; it replaces the proven policy once it is confirmed against the baseline.
class Checks {
 public:
  // `told` hears what share of a race or of a confirmation is done.
  using Told = std::function<void(JobProgress::Phase, double share)>;

  Checks(JobContext& job, std::vector<TunedWorkload>& tuned, Told told)
      : job_(job), tuned_(tuned), told_(std::move(told)) {}

  // Races, and begins to confirm the winners, until the time that is given at the latest. The last
  // checks are of all workloads, and to a decision of everything; earlier ones of those that
  // promise most, and what is no clear gain is continued in the next.
  void begin(double end_s, bool last);
  // Whether there is a further block of confirmations to run, and time for it.
  bool goes_on() const;
  // One block, in a new process: what it proves.
  std::vector<Accepted> confirm_block();
  // What further ones will take at least, as far as is known.
  double expected_s() const;

 private:
  // Of one workload: what is to race.
  struct Finalists {
    size_t tuned = 0;                  // index
    std::vector<SeenPolicy> policies;  // the best first
    double promise = 0;                // of the model's time, that the best saves
  };

  static double share_to_beat(const TunedWorkload& tuned);
  Finalists finalists(size_t index, bool last) const;
  std::vector<Finalists> racing(bool last) const;
  void race();
  void begin_confirming();
  Accepted accept(TunedWorkload& tuned, Gain gain);

  JobContext& job_;
  std::vector<TunedWorkload>& tuned_;
  Told told_;

  double end_s_ = 0;
  bool last_ = false;  // of the checks
  std::vector<size_t>
      confirming_;                // indexes of the workloads whose challengers are being confirmed
  std::optional<Proofs> proofs_;  // of their challengers
  size_t blocks_ = 0, most_blocks_ = 0;
  double block_s_ = 0;  // of a confirmation, the latest; 0: there was none
};

}  // namespace aoe

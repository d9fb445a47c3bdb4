#pragma once

#include <functional>
#include <vector>

#include "tune/job/job_state.h"

namespace aoe {

// The checks of a round: the best candidates of each workload race, and the winners are confirmed
// in new processes. A policy races once. Later finalists race against the workload's challenger,
// which is being confirmed, or else against its proven policy. The winner becomes the challenger;
// it replaces the proven policy once it is confirmed against the baseline.
class Checks {
 public:
  // Called with the completed share of a race or of a confirmation.
  using OnProgress = std::function<void(JobProgress::Phase, double share)>;

  Checks(JobContext& job, std::vector<TunedWorkload>& tuned, OnProgress on_progress)
      : job_(job), tuned_(tuned), on_progress_(std::move(on_progress)) {}

  // Runs the races and prepares the confirmation of the winners; both end at `end_s` at the latest.
  // The last checks cover all workloads and decide every confirmation. Earlier ones cover the
  // workloads with the largest expected gains and leave undecided confirmations to the next round.
  void begin(double end_s, bool last);
  // Whether another block of confirmations is needed and there is time for it.
  bool goes_on() const;
  // Measures one block in a new process. Returns the policies that it proves.
  std::vector<Accepted> confirm_block();
  // Expected duration of the checks of a later round, at least; 0 if no block was measured yet.
  double expected_s() const;

 private:
  // The candidates of one workload that race.
  struct Finalists {
    size_t tuned = 0;                      // index into tuned_
    std::vector<ScreenedPolicy> policies;  // fastest first
    double promise = 0;                    // share of the model's time that the best should save
  };

  static double share_to_beat(const TunedWorkload& tuned);
  Finalists finalists(size_t index, bool last) const;
  std::vector<Finalists> racing(bool last) const;
  void race();
  void begin_confirming();
  Accepted accept(TunedWorkload& tuned, Gain gain);

  JobContext& job_;
  std::vector<TunedWorkload>& tuned_;
  OnProgress on_progress_;

  double end_s_ = 0;
  bool last_ = false;  // these are the last checks
  std::vector<size_t>
      confirming_;                // indexes of the workloads whose challengers are being confirmed
  std::optional<Proofs> proofs_;  // of their challengers
  size_t blocks_ = 0, most_blocks_ = 0;
  double block_s_ = 0;  // duration of the latest block; 0: there was none
};

}  // namespace aoe

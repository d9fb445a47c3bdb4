#pragma once

#include <functional>
#include <vector>

#include "tune/job/job_state.h"

namespace aoe {

// Races and confirmations of a round: the best candidates of each workload race, and the winners
// are confirmed in new processes. A policy races once. Later finalists race against the workload's
// challenger, which is being confirmed, or else against its proven policy. The winner becomes the
// challenger; it replaces the proven policy once it is confirmed against the baseline.
class Confirmation {
 public:
  // Called with the completed share of a race or of a confirmation.
  using OnProgress = std::function<void(JobProgress::Phase, double share)>;

  Confirmation(JobContext& job, std::vector<TunedWorkload>& tuned, OnProgress on_progress)
      : job_(job), tuned_(tuned), on_progress_(std::move(on_progress)) {}

  // Runs the races and prepares the confirmation of the winners; both may take `allowed_s`
  // together. The last round covers all workloads and decides every confirmation. Earlier ones
  // cover the workloads with the largest expected gains and leave undecided confirmations to the
  // next round.
  void race_and_open_proofs(double allowed_s, bool last);
  // Whether another block of confirmations is needed and there is time for it.
  bool goes_on() const;
  // Measures one block in a new process. Returns the policies that it proves. The caller does other
  // work between blocks.
  std::vector<Accepted> confirm_block();
  // Whether a block of this round was measured.
  bool has_block() const { return blocks_ > 0; }
  // Time of the races and blocks of this round.
  double spent_s() const { return spent_s_; }
  // Expected time of those of a later round, at least; 0 if no block was measured yet.
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
  void open_proofs();
  Accepted accept(TunedWorkload& tuned, Gain gain);

  JobContext& job_;
  std::vector<TunedWorkload>& tuned_;
  OnProgress on_progress_;

  double allowed_s_ = 0, spent_s_ = 0;
  bool last_ = false;  // this is the last round
  // Indexes of the workloads whose challengers are being confirmed, and the proofs of these.
  std::vector<size_t> confirming_;
  std::optional<Proofs> proofs_;
  size_t blocks_ = 0, most_blocks_ = 0;
  double block_s_ = 0;  // duration of the latest block; 0: there was none
};

}  // namespace aoe

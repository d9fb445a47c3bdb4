#pragma once

#include <functional>
#include <vector>

#include "tune/job/job_state.h"

namespace aoe {

// The search of a job. Takes candidates from the searchers, most from the workloads with the
// largest expected saving, has them compiled, checked and screened in batches, and tells the
// searchers their times.
class Sampling {
 public:
  // `runs` as for Screening.
  Sampling(JobContext& job, std::vector<TunedWorkload>& tuned, size_t runs)
      : job_(job), tuned_(tuned), runs_(runs) {}

  // Takes samples while `goes_on()` holds and there are candidates. Every compiled candidate has
  // been timed when it returns. `on_progress` is called after each batch.
  void run(const std::function<bool()>& goes_on, const std::function<void()>& on_progress);

  size_t proposed() const { return proposed_; }
  size_t timed() const { return timed_; }
  // Whether all searchers have run out of candidates.
  bool is_exhausted() const;
  // Share of the model's time that as many samples again are expected to save.
  double expected_gain() const;
  // Compiles the next candidates, if there are to be `more`, while those that were compiled before
  // are timed. Returns false if there was nothing to do.
  bool step(bool more);

 private:
  struct Sample {
    size_t tuned = 0;  // index into tuned_
    Policy policy;
    std::string text;
    bool again = false;  // its first screening gave no valid time; there is no third
  };

  std::vector<const Expectation*> expectations() const;
  std::vector<Sample> propose();
  std::vector<Candidate> to_candidates(const std::vector<Sample>& samples) const;
  void learn(const Sample& sample, double share);
  void learn_failure(const Sample& sample, const Failure& failure);
  // Tells the searchers the times. Returns the samples that must be timed again.
  std::vector<Sample> learn_times(const std::vector<Sample>& samples, const Screening& screening,
                                  const PassesResult& measured);

  JobContext& job_;
  std::vector<TunedWorkload>& tuned_;
  const size_t runs_;
  std::vector<Sample> ready_;  // compiled and checked, to be timed
  size_t proposed_ = 0;
  size_t timed_ = 0;
};

}  // namespace aoe

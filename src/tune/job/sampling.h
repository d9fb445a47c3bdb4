#pragma once

#include <functional>
#include <vector>

#include "tune/job/job_state.h"

namespace aoe {

// The search of a job: candidates of all workloads, where they promise most, are compiled, checked
// and timed in batches, and the searchers told.
class Sampling {
 public:
  // `runs` of a first look, as Screening takes them.
  Sampling(JobContext& job, std::vector<TunedWorkload>& tuned, size_t runs)
      : job_(job), tuned_(tuned), runs_(runs) {}

  // As long as `goes_on` and there are candidates; whatever was compiled is timed when it returns.
  // `told` hears of each batch.
  void run(const std::function<bool()>& goes_on, const std::function<void()>& told);

  size_t proposed() const { return proposed_; }
  size_t timed() const { return timed_; }
  // No searcher knows any more.
  bool is_exhausted() const;
  // Of the model's time, what as many samples again can be expected to save.
  double expected_gain() const;

 private:
  struct Sample {
    size_t tuned = 0;  // index
    Policy policy;
    std::string text;
    bool again = false;  // its time was below what is possible: timed once more
  };

  std::vector<const Expectation*> expectations() const;
  std::vector<Sample> propose();
  std::vector<Candidate> to_candidates(const std::vector<Sample>& samples) const;
  void learn(const Sample& sample, double share);
  void learn_failure(const Sample& sample, const Failure& failure);
  // Gives those that are to be timed again.
  std::vector<Sample> learn_times(const std::vector<Sample>& samples, const Screening& screening,
                                  const PassesResult& measured);

  JobContext& job_;
  std::vector<TunedWorkload>& tuned_;
  const size_t runs_;
  size_t proposed_ = 0;
  size_t timed_ = 0;
};

}  // namespace aoe

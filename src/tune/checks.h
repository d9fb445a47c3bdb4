#pragma once

#include <functional>
#include <vector>

#include "tune/job_context.h"
#include "tune/tuned_workload.h"

namespace aoe {

// What a round's search has found is put to the test: the best of the workloads race, and the
// winners are confirmed in processes that know nothing of them. Policies race once. One that is
// being confirmed, or was, is raced against by those that seem better; who wins takes its place, a
// confirmed one's once it is confirmed itself, against the policy that stood at the start.
class Checks {
 public:
  // `told` hears what share of a race or of a confirmation is done.
  using Told = std::function<void(JobProgress::Phase, double share)>;

  Checks(JobContext& job, std::vector<TunedWorkload>& tuned, Told told)
      : job_(job), tuned_(tuned), told_(std::move(told)) {}

  // Until the time that is given at the latest. The last ones are of all workloads, and to a
  // decision of everything; earlier ones of those that promise most, and what is no clear gain is
  // gone on with in the next.
  void run(double end_s, bool last);
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
  void race(double end_s, bool last);
  void confirm(double end_s, bool last);
  void accept(TunedWorkload& tuned, Gain gain);

  JobContext& job_;
  std::vector<TunedWorkload>& tuned_;
  Told told_;
  double block_s_ = 0;  // of a confirmation, the latest; 0: there was none
};

}  // namespace aoe

#pragma once

#include <functional>
#include <memory>
#include <set>

#include "device/device.h"
#include "measure/proof.h"
#include "search/searcher.h"
#include "tune/machine.h"

namespace aoe {

struct JobOptions {
  uint64_t seed = 1;
  // Candidates of each workload that are timed, at the mean: those that take most of the model's
  // time get more.
  size_t samples = 32;
  // In all; infinite: until the samples are spent.
  double budget_s = 0;
  // By workload: which are to be tuned. Empty: all.
  std::vector<bool> chosen;
};

// A policy that was proven better than the one its workload had.
struct Accepted {
  int workload = 0;
  std::string policy;
  Interval speed_up;
  double before_ns = 0;  // of the uses together, in the confirmation
  double after_ns = 0;
  int64_t samples = 0;
};

struct JobResult {
  std::vector<Accepted> accepted;  // and carried over to the whole model
  std::vector<int> failed;         // workloads whose standing policy did not pass
  double before_ns = 0;            // of the whole model, as it was opened
  double after_ns = 0;
  // Of the whole model; nothing was accepted: none.
  std::optional<Interval> speed_up;
  int64_t samples = 0;  // pairs of passes that the whole model's speed-up comes from
};

// What a job is at, for a screen.
struct JobProgress {
  enum class Phase : uint8_t { opening, searching, racing, confirming, whole_model };
  Phase phase = Phase::opening;
  double share = 0;  // of the job that is done, roughly
  double elapsed_s = 0;
  size_t candidates = 0;   // timed so far
  int workload = -1;       // that the latest news is of
  double best_speed_up = 1;  // of it so far, not proven
};

// Tunes the operators of a model: search, race, confirm, then the whole model. A function of its
// options and of what the machine answers.
JobResult tune_operators(Machine& machine, const Device& device, const JobOptions& options,
                         const std::function<void(const JobProgress&)>& progress = {},
                         const std::function<void(const Accepted&)>& accepted = {});

}  // namespace aoe

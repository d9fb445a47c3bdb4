#pragma once

#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "bank/gain.h"
#include "device/device.h"
#include "tune/explanation.h"
#include "tune/machine.h"
#include "tune/options.h"
#include "tune/relatives.h"

namespace aoe {

struct JobOptions {
  uint64_t seed = 1;
  // Candidates that are timed, for each workload at the mean: those that promise most have more.
  // With a budget they are no limit, but how often the searchers change their ways.
  size_t samples = 32;
  // Of the model's time: where as many samples again are not expected to gain as much, none are
  // taken.
  double least_gain = 0.002;
  TunedKinds kinds;
  double budget_s = std::numeric_limits<double>::infinity();
  // Which of the workloads are to be tuned.
  std::function<std::vector<bool>(const std::vector<OpenWorkload>&)> chosen =
      [](const std::vector<OpenWorkload>& all) { return std::vector<bool>(all.size(), true); };
  // Policies that are known for workloads of any shapes, to begin with.
  std::function<std::vector<Relative>()> known = [] { return std::vector<Relative>(); };
};

// A policy that was proven better than the one its workload had.
struct Accepted {
  int workload = 0;
  std::string policy;
  Gain gain;                       // of one use, in the confirmation
  std::optional<Explanation> why;  // once it was looked at
};

struct JobResult {
  std::vector<Accepted> accepted;  // and carried over to the whole model
  std::vector<int> failed;         // workloads whose standing policy did not pass
  double before_ns = 0;            // of the whole model, as it was opened; 0: not measured
  size_t taken_back = 0;           // proven in their place, but not carried over
  size_t tried = 0;                // candidates that were timed
  // Of the whole model, if anything was accepted: proven, or seen but too small to be proven.
  std::optional<Gain> gain, unproven_gain;
  double expected_gain = 0;  // of the model's time, if the job had gone on for as long again
  double elapsed_s = 0;
};

// What a job is at, for a screen.
struct JobProgress {
  enum class Phase : uint8_t { layouts, searching, racing, confirming, whole_model };
  Phase phase = Phase::searching;
  double share = 0;  // of the job that is done, roughly; never less than before
  double elapsed_s = 0;
  size_t candidates = 0;     // timed so far
  size_t proven = 0;         // workloads with a better policy
  int workload = -1;         // with the largest gain so far, which is not proven
  double best_speed_up = 1;  // of it
};

struct JobListener {
  std::function<void(const Opened&)> opened = [](const Opened&) {};
  std::function<void(const JobProgress&)> progress = [](const JobProgress&) {};
  // One that is proven later may take the place of an earlier one of its workload.
  std::function<void(const Accepted&)> accepted = [](const Accepted&) {};
};

// Tunes the operators of a model: rounds of search, race and confirmation, then the whole model
// (docs/tuning.md). A function of its options and of what the machine answers.
JobResult tune_operators(Machine& machine, const Device& device, const JobOptions& options,
                         const JobListener& listener = {});

}  // namespace aoe

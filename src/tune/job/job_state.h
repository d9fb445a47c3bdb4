#pragma once

#include <fmt/format.h>

#include <limits>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/notice.h"
#include "search/searcher.h"
#include "tune/job/expectation.h"
#include "tune/job/explanation.h"
#include "tune/job/trials.h"
#include "tune/setup/options.h"

// What a job is given, what its parts share while it runs, and what it comes to.

namespace aoe {

struct JobOptions {
  uint64_t seed = 1;
  // Candidates that are timed, for each workload at the mean: those that promise most have more.
  // With a budget they are no limit, but how often the searchers change their ways.
  size_t samples = 32;
  // Of a first look at a candidate, by it and by the baseline together.
  size_t runs = kDefaultRuns;
  // Of the model's time: where as many samples again are not expected to gain as much, none are
  // taken.
  double least_gain = 0.002;
  TunedKinds kinds = {};
  double budget_s = std::numeric_limits<double>::infinity();
};

// A candidate that was proven better than the baseline.
struct Accepted {
  Candidate candidate;
  Gain gain;                            // of one use of a workload; of the whole model by a plan
  std::optional<Explanation> why = {};  // once it was looked at
};

struct JobResult {
  std::vector<Accepted> accepted;  // and carried over to the whole model
  std::vector<int> failed;         // workloads whose baseline policy did not pass
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

// A policy, and what it seems to take, as a share of the baseline policy's time.
struct SeenPolicy {
  std::string policy;
  double share = 1;
};

// A workload that is tuned, and how far that has come.
struct TunedWorkload {
  int workload = 0;
  std::shared_ptr<const Workload> parsed;
  std::shared_ptr<SearchMemory> memory;  // shares are of the baseline policy's time
  std::unique_ptr<Searcher> searcher;
  Expectation expectation{0};

  std::set<std::string> raced;  // policies that had their race
  // Has won its race, and is to be confirmed: so far there is this evidence.
  std::optional<SeenPolicy> challenger;
  ProofSamples evidence;
  // The best that was confirmed.
  std::optional<Accepted> proven;

  double best_share() const { return memory->seen()[0].share; }
};

// Whom a job asks, what was opened, and what time it is.
class JobContext {
 public:
  JobContext(Machine& machine, uint64_t seed, double budget_s)
      : random(seed), budget_s(budget_s), machine_(machine) {}

  Random random;
  const double budget_s;

  const Opened& open() {
    opened_ = machine_.open();
    elapsed_s_ = opened_.elapsed_s;
    log_line(LogLevel::info,
             fmt::format("opened: {} workloads, {:.3f} ms a pass, A/A noise floor {:.3f}, margin "
                         "of a proof {:.3f}",
                         workloads(), pass_ns(opened_) / 1e6, opened_.noise_floor, opened_.margin));
    return opened_;
  }
  Answer ask(const Request& request) {
    Answer done = machine_.ask(request);
    elapsed_s_ = done.elapsed_s;
    return done;
  }
  void record_decision(const std::string& question, const std::string& decision) {
    machine_.record_decision(question, decision);
    log_line(LogLevel::info, fmt::format("{}: {}", question, decision));
  }

  const Opened& opened() const { return opened_; }
  const OpenWorkload& workload(int number) const {
    return opened_.workloads[static_cast<size_t>(number)];
  }
  double uses(int number) const { return static_cast<double>(workload(number).uses); }
  size_t workloads() const { return opened_.workloads.size(); }
  double elapsed_s() const { return elapsed_s_; }

  // What a proof has come to, with what is known of the host's noise.
  Gain gain_of(const Proofs& proofs, size_t group) const {
    Gain gain = proofs.gain(group);
    gain.noise_floor = opened_.noise_floor;
    return gain;
  }

 private:
  Machine& machine_;
  Opened opened_;
  double elapsed_s_ = 0;
};

}  // namespace aoe

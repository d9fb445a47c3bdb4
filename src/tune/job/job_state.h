#pragma once

#include <fmt/format.h>

#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/notice.h"
#include "search/searcher.h"
#include "tune/job/expectation.h"
#include "tune/job/explanation.h"
#include "tune/job/paired_blocks.h"
#include "tune/job/trials.h"
#include "tune/setup/options.h"

// The options of a job, the state that its parts share while it runs, and its result.

namespace aoe {

struct JobOptions {
  uint64_t seed = 1;
  // Mean number of candidates per workload; promising workloads get more. Without a budget it
  // limits the search. With one it is only the period in which searchers alternate between their
  // strategies (SearchPlan::samples).
  size_t samples = 32;
  // Runs of a screening, of the candidate and the baseline together.
  size_t runs = kDefaultRuns;
  // The search ends when doubling the number of samples is expected to save less than this share of
  // the model's time.
  double least_gain = 0.002;
  TunedKinds kinds = {};
  // Claims that were made before, about layouts: they share the job's error.
  size_t claims_made = 0;
  double budget_s = std::numeric_limits<double>::infinity();
};

// A candidate that was proven better than the baseline.
struct Accepted {
  Candidate candidate;
  Gain gain;                            // policy: of one use of the workload; plan: of the model
  std::optional<Explanation> why = {};  // set by Job::finish
};

struct JobResult {
  std::vector<Accepted> accepted;  // proven, and carried over to the whole model
  std::vector<int> failed;         // workloads whose baseline policy failed its check
  // The workloads that were to be tuned, except for failed ones, with the number of candidates that
  // were timed before the search or the time ended.
  std::map<int, size_t> searched = {};
  double before_ns = 0;  // of the whole model, as it was opened; 0: not measured
  size_t dropped = 0;    // policies proven in place that did not carry over
  size_t chosen = 0;     // workloads that were to be tuned
  size_t tried = 0;      // candidates timed
  // Challengers whose confirmation was undecided when the time ended.
  struct Undecided {
    int workload = 0;
    double speed_up = 1;  // by its race
  };
  std::vector<Undecided> undecided;
  // Gain of the whole model, if anything was accepted: proven, or measured but not proven.
  std::optional<Gain> gain, unproven_gain;
  double expected_gain = 0;  // share of the model's time that as many samples again should save
  double elapsed_s = 0;
};

// The state of a job, for display.
struct JobProgress {
  enum class Phase : uint8_t { layouts, searching, racing, confirming, whole_model };
  Phase phase = Phase::searching;
  double share = 0;  // completed share of the job, roughly; never decreases
  double elapsed_s = 0;
  size_t candidates = 0;     // timed so far
  size_t proven = 0;         // workloads with a proven policy
  int workload = -1;         // the one with the largest screened speed-up so far
  double best_speed_up = 1;  // its screened speed-up, which is not proven
};

// A policy and its measured time as a share of the baseline's.
struct ScreenedPolicy {
  std::string policy;
  double share = 1;
};

// A policy that is being confirmed. Each is a new claim of the job.
struct Challenger {
  std::string policy;
  double share = 1;  // by its race
  double error = 0;  // of its proof
  BlockSamples evidence = {};
};

// A workload that is tuned, with the state of its search, race and confirmation.
struct TunedWorkload {
  int workload = 0;
  std::shared_ptr<const Workload> parsed;
  std::shared_ptr<SearchMemory> memory;  // shares are relative to the baseline's time
  std::unique_ptr<Searcher> searcher;
  Expectation expectation{0};

  std::set<std::string> raced;  // policies that have raced; each races once
  // The winner of a race, which is being confirmed.
  std::optional<Challenger> challenger;
  // The best confirmed policy.
  std::optional<Accepted> proven;

  double best_share() const { return memory->seen()[0].share; }
};

// The runner of a job, the opened model, the time used according to the latest answer, and what is
// left of the error that the job may make.
class JobContext {
 public:
  // `claims_made`: by the job before, for instance about layouts.
  JobContext(Runner& runner, uint64_t seed, double budget_s, size_t claims_made = 0)
      : random(seed), budget_s(budget_s), runner_(runner), errors_(claims_made) {}

  Random random;
  const double budget_s;

  const OpenedModel& open() {
    opened_ = runner_.open();
    elapsed_s_ = opened_.elapsed_s;
    log_line(LogLevel::info,
             fmt::format("opened: {} workloads, {:.3f} ms a pass, A/A noise floor {:.3f}, margin "
                         "of a proof {:.3f}",
                         workloads(), pass_ns(opened_) / 1e6, opened_.noise_floor, opened_.margin));
    return opened_;
  }
  Answer ask(const Request& request) {
    Answer done = runner_.ask(request);
    elapsed_s_ = done.elapsed_s;
    return done;
  }
  void record_decision(const std::string& question, const std::string& decision) {
    runner_.record_decision(question, decision);
    log_line(LogLevel::info, fmt::format("{}: {}", question, decision));
  }

  const OpenedModel& opened() const { return opened_; }
  const OpenWorkload& workload(int number) const {
    return opened_.workloads[static_cast<size_t>(number)];
  }
  double uses(int number) const { return static_cast<double>(workload(number).uses); }
  size_t workloads() const { return opened_.workloads.size(); }
  double elapsed_s() const { return elapsed_s_; }

  // The error that the proof of a new claim may have. It is a decision of the job: journals show
  // what each claim was allowed.
  double error_of_claim(const std::string& claim) {
    const double error = errors_.next();
    record_decision("error of the claim about " + claim, fmt::format("{}", error));
    return error;
  }

  // The gain that the blocks of a test show, which ended when they looked good or bad: bounds that
  // hold whenever one looks, until fresh blocks give an unbiased estimate.
  Gain gain_of(const Proofs& proofs, size_t group) const {
    Gain gain = gain_of(proofs.evidence(group));
    gain.speedup_low = proofs.proof(group).speed_up.low;
    gain.speedup_high = proofs.proof(group).speed_up.high;
    return gain;
  }
  // The gain that a fixed number of blocks shows, with the noise floor of the host.
  Gain gain_of(const BlockSamples& samples) const {
    Gain gain = estimated_gain(samples);
    gain.noise_floor = opened_.noise_floor;
    return gain;
  }

 private:
  Runner& runner_;
  ErrorBudget errors_;
  OpenedModel opened_;
  double elapsed_s_ = 0;
};

}  // namespace aoe

#include "tune/job/whole_model.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "measure/statistics/carry_over.h"

namespace aoe {
namespace {

class WholeModel {
 public:
  WholeModel(JobContext& job, std::vector<Accepted> accepted)
      : job_(job), accepted_(std::move(accepted)) {}

  void run(JobResult& result, const std::function<void(double share)>& on_progress) {
    for (;;) {
      const WholeStep step = next_whole(accepted_.size(), trials_);
      if (step.done || out_of_time()) {
        if (!gains_.empty()) result.before_ns = gains_.back().before_ns;
        // If time runs out, policies in no subset tried so far are dropped.
        keep(step.done ? step.policies
                       : next_whole(accepted_.size(), trials_, trials_.size()).policies,
             result);
        return;
      }
      compare(step.policies, on_progress);
    }
  }

 private:
  bool out_of_time() const { return job_.elapsed_s() >= job_.budget_s; }

  void compare(const std::vector<size_t>& policies,
               const std::function<void(double share)>& on_progress) {
    std::vector<Candidate> together;
    for (const size_t i : policies) together.push_back(accepted_[i].candidate);
    std::vector<size_t> all(together.size());
    std::iota(all.begin(), all.end(), 0);
    // Each policy already had to exceed the A/A noise floor.
    Proofs comparison(job_.workloads(), together, {all}, true, block_pairs(job_.opened()),
                      {.margin = 0}, job_.random);
    while (!comparison.over() && !out_of_time()) {
      comparison.add(job_.ask({{}, comparison.next()}).measured);
      on_progress(comparison.share());
    }
    const Proof& proof = comparison.proof(0);
    trials_.push_back({policies, proof});
    job_.record_decision(
        "whole model",
        fmt::format("{} policies together: {} times as fast, {} to {}", policies.size(),
                    proof.speed_up.median, proof.speed_up.low, proof.speed_up.high));
    gains_.push_back(job_.gain_of(comparison, 0));
  }

  void keep(const std::vector<size_t>& kept, JobResult& result) const {
    for (const size_t i : kept) result.accepted.push_back(accepted_[i]);
    result.dropped = accepted_.size() - kept.size();
    for (size_t i = 0; i < trials_.size(); ++i) {
      if (trials_[i].policies != kept) continue;
      const bool proven = trials_[i].proof.decision == ProofDecision::accepted;
      (proven ? result.gain : result.unproven_gain) = gains_[i];
      result.before_ns = gains_[i].before_ns;
    }
  }

  JobContext& job_;
  std::vector<Accepted> accepted_;
  std::vector<WholeTrial> trials_;
  std::vector<Gain> gains_;  // of each trial
};

}  // namespace

void compare_whole_model(JobContext& job, std::vector<Accepted> accepted, JobResult& result,
                         const std::function<void(double share)>& on_progress) {
  WholeModel(job, std::move(accepted)).run(result, on_progress);
}

}  // namespace aoe

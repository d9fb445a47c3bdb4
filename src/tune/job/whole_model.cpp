#include "tune/job/whole_model.h"

#include <fmt/format.h>

#include <algorithm>

#include "measure/statistics/carry_over.h"

// First `choose`: subsets of the accepted policies are compared with the baseline, each by a
// sequential test, until one carries over. Then `estimate`: a fixed number of fresh blocks, used
// for nothing else, gives the gains of the model and of every operator that the job reports. Gains
// from the tests themselves would be biased: a test ends when its data look good.

namespace aoe {
namespace {

using Timed = PairedBlocks::Timed;

// If time is short; the fewest that give an interval.
constexpr size_t kFewestFinalBlocks = kFewestValues;

class WholeModel {
 public:
  WholeModel(JobContext& job, std::vector<Accepted> accepted,
             const std::function<void(double share)>& on_progress)
      : job_(job), accepted_(std::move(accepted)), on_progress_(on_progress) {}

  void run(JobResult& result) {
    const std::vector<size_t> kept = choose();
    result.dropped = accepted_.size() - kept.size();
    for (const size_t i : kept) result.accepted.push_back(accepted_[i]);
    if (!before_ns_.empty()) result.before_ns = before_ns_.back();
    bool proven = is_proven(kept);
    while (!result.accepted.empty() && estimate(proven, result) && !out_of_time()) {
      proven = false;  // what is left was not tested as a whole
    }
  }

 private:
  bool has_time_for(size_t blocks) const {
    return job_.elapsed_s() + static_cast<double>(blocks) * block_s_ < job_.budget_s;
  }
  // The final estimate needs its time too.
  bool out_of_time() const { return !has_time_for(kFewestFinalBlocks); }

  std::vector<size_t> choose() {
    for (;;) {
      const WholeStep step = next_whole(accepted_.size(), trials_);
      if (step.done) return step.policies;
      // If time runs out, policies in no subset tried so far are dropped.
      if (out_of_time()) {
        return next_whole(accepted_.size(), trials_, trials_.size()).policies;
      }
      compare(step.policies);
    }
  }

  void compare(const std::vector<size_t>& policies) {
    const ProofOptions options{.margin = job_.opened().margin,
                               .error = job_.error_of_claim("the whole model")};
    Proofs comparison(job_.opened(), {{candidates(policies), options}}, Timed::whole_pass,
                      job_.random);
    while (!comparison.over() && !out_of_time()) {
      ask(comparison.next(), [&](const PassesResult& measured) { comparison.add(measured); });
      on_progress_(kChosen * comparison.share());
    }
    const Proof& proof = comparison.proof(0);
    trials_.push_back({policies, proof, comparison.is_failed(0)});
    job_.record_decision(
        "whole model",
        fmt::format("{} policies together: {} times as fast, {} to {}", policies.size(),
                    proof.speed_up.median, proof.speed_up.low, proof.speed_up.high));
    if (!comparison.evidence(0).before_ns.empty()) {
      before_ns_.push_back(estimated_gain(comparison.evidence(0)).before_ns);
    }
  }

  // Returns true if policies were dropped because the estimate shows them to be slower: the others
  // need another one.
  bool estimate(bool proven, JobResult& result) {
    std::vector<Candidate> together;
    for (const Accepted& one : result.accepted) together.push_back(one.candidate);
    PairedBlocks blocks(job_.opened(), {together}, Timed::whole_pass, job_.random);
    const size_t count = has_time_for(kFinalBlocks) ? kFinalBlocks : kFewestFinalBlocks;
    while (blocks.needs_block(0, count)) {
      ask(blocks.next({true}), [&](const PassesResult& measured) { blocks.add(measured); });
      const auto done = static_cast<double>(blocks.samples(0).speed_ups.size());
      on_progress_(kChosen + (1 - kChosen) * done / static_cast<double>(count));
    }
    if (blocks.is_failed(0)) {
      // Which one it is, is not worth another search: a policy that fails now, after all its runs,
      // is a fault of the machine or of the code generator.
      job_.record_decision("final estimate", "a policy failed: none is kept");
      drop_if(result, [](size_t) { return true; });
    }
    // If workers were lost, the operators keep the gains of their proofs, and no model gain is
    // claimed.
    if (blocks.samples(0).speed_ups.size() < count) return false;
    result.before_ns = estimated_gain(blocks.samples(0)).before_ns;
    if (drop_slower(blocks, result)) return true;
    const Gain model = job_.gain_of(blocks.samples(0));
    (proven ? result.gain : result.unproven_gain) = model;
    for (size_t i = 0; i < result.accepted.size(); ++i) {
      Gain& gain = result.accepted[i].gain;
      gain = job_.gain_of(blocks.part(0, i));
      const double uses = job_.uses(result.accepted[i].candidate.workload);
      gain.before_ns /= uses;
      gain.after_ns /= uses;
    }
    job_.record_decision("final estimate",
                         fmt::format("{} times as fast, {} to {}", model.before_ns / model.after_ns,
                                     model.speedup_low, model.speedup_high));
    return false;
  }

  template <typename Predicate>
  static void drop_if(JobResult& result, const Predicate& is_dropped) {
    std::vector<Accepted> kept;
    for (size_t i = 0; i < result.accepted.size(); ++i) {
      if (is_dropped(i)) ++result.dropped;
      else kept.push_back(result.accepted[i]);
    }
    result.accepted = std::move(kept);
  }

  // A policy was proven beside the baseline's policies of other workloads, and may be no faster
  // beside their new ones. Dropping policies can only remove claims, so it costs no error.
  bool drop_slower(const PairedBlocks& blocks, JobResult& result) {
    const auto is_slower = [&](const BlockSamples& samples) {
      const Gain gain = job_.gain_of(samples);
      return gain.speedup_high < 1 || gain.after_ns >= gain.before_ns;
    };
    const bool whole = is_slower(blocks.samples(0));
    const size_t before = result.accepted.size();
    drop_if(result, [&](size_t i) { return whole || is_slower(blocks.part(0, i)); });
    if (result.accepted.size() == before) return false;
    job_.record_decision("final estimate",
                         whole ? "the model is slower: no policy is kept"
                               : fmt::format("{} policies are slower beside the others: dropped",
                                             before - result.accepted.size()));
    return true;
  }

  template <typename Add>
  void ask(const PassesRequest& block, const Add& add) {
    const double began_s = job_.elapsed_s();
    add(job_.ask({{}, block}).measured);
    block_s_ = job_.elapsed_s() - began_s;
  }

  std::vector<Candidate> candidates(const std::vector<size_t>& policies) const {
    std::vector<Candidate> together;
    for (const size_t i : policies) together.push_back(accepted_[i].candidate);
    return together;
  }

  bool is_proven(const std::vector<size_t>& kept) const {
    return std::any_of(trials_.begin(), trials_.end(), [&](const WholeTrial& trial) {
      return trial.policies == kept && trial.proof.decision == ProofDecision::accepted;
    });
  }

  // Share of the progress that choosing takes.
  static constexpr double kChosen = 0.5;

  JobContext& job_;
  std::vector<Accepted> accepted_;
  const std::function<void(double share)>& on_progress_;
  std::vector<WholeTrial> trials_;
  std::vector<double> before_ns_;  // of the whole model, by trial
  double block_s_ = 0;             // duration of the latest block
};

}  // namespace

void compare_whole_model(JobContext& job, std::vector<Accepted> accepted, JobResult& result,
                         const std::function<void(double share)>& on_progress) {
  WholeModel(job, std::move(accepted), on_progress).run(result);
}

}  // namespace aoe

#include "tune/job.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/error.h"
#include "expr/parse.h"
#include "measure/proof.h"
#include "measure/race.h"
#include "measure/take_back.h"
#include "policy/policy_text.h"
#include "policy/validate.h"
#include "search/searcher.h"
#include "tune/trials.h"

namespace aoe {
namespace {

// Proposals that are compiled while the ones before are timed: enough to keep several processes
// busy, few enough for the searchers to learn from what came before.
constexpr size_t kBatch = 16;
constexpr size_t kMostOfOne = 4;
// Of a model's time: what takes less cannot change it by as much as can be proven.
constexpr double kLeastShare = 0.002;
constexpr size_t kFinalists = 3;
// The search leaves time for race and confirmation, and these for the whole model.
constexpr double kSearchShare = 0.5;
constexpr double kConfirmedShare = 0.8;

double infinite() { return std::numeric_limits<double>::infinity(); }

class Job {
 public:
  Job(Machine& machine, const Device& device, const JobOptions& options,
      const JobListener& listener)
      : machine_(machine),
        device_(device),
        options_(options),
        listener_(listener),
        random_(options.seed) {}

  JobResult run() {
    open();
    check_standing();
    search();
    race();
    confirm();
    whole_model();
    result_.elapsed_s = elapsed_s_;
    result_.tried = timed_;
    return std::move(result_);
  }

 private:
  // A workload that is tuned.
  struct TunedWorkload {
    int workload = 0;
    std::shared_ptr<const Workload> parsed;
    std::shared_ptr<SearchMemory> memory;  // shares are of the standing policy's time
    std::unique_ptr<Searcher> searcher;
    double share = 0;  // of the model's time
    bool exhausted = false;
    std::optional<std::string> winner;  // of the race
  };

  void open() {
    opened_ = machine_.open();
    listener_.opened(opened_);
    elapsed_s_ = opened_.elapsed_s;
    const std::vector<bool> chosen = options_.chosen(opened_.workloads);
    const std::vector<Relative> known = options_.known();
    for (size_t i = 0; i < opened_.workloads.size(); ++i) {
      const OpenWorkload& one = opened_.workloads[i];
      const double share = one.own_ns / pass_ns(opened_);
      if (!chosen[i] || share < kLeastShare) continue;
      TunedWorkload tuned;
      tuned.workload = static_cast<int>(i);
      tuned.share = share;
      tuned.parsed = std::make_shared<const Workload>(parse_workload(one.text));
      const auto space = std::make_shared<const Space>(tuned.parsed, device_);
      if (!(space->has_products() ? options_.kinds.cube : options_.kinds.vector)) continue;
      SearchPlan plan = plan_for(*space, options_.samples, options_.seed * 1000003 + i);
      plan.seeds = seeds(*space, relatives_of(one.text, known));
      tuned.memory = std::make_shared<SearchMemory>(space, ranker_);
      tuned.searcher = aoe::search(tuned.memory, std::move(plan));
      tuned_.push_back(std::move(tuned));
    }
  }

  // What is known for other shapes, as it fits here; what does not is of no use.
  static std::vector<Policy> seeds(const Space& space, const std::vector<Relative>& relatives) {
    std::vector<Policy> policies;
    for (const Relative& one : relatives) {
      try {
        const Workload other = parse_workload(one.workload);
        const Policy theirs = parse_policy(one.policy, other);
        if (validate(theirs, other, space.device())) continue;
        if (auto own = space.adapted(theirs, other)) policies.push_back(std::move(*own));
      } catch (const Error&) {
        continue;
      }
    }
    return policies;
  }

  const OpenWorkload& workload(int number) const {
    return opened_.workloads[static_cast<size_t>(number)];
  }
  size_t workloads() const { return opened_.workloads.size(); }

  // What cannot stand as it is cannot be compared with.
  void check_standing() {
    Work work;
    for (const TunedWorkload& one : tuned_) {
      work.compile.push_back({one.workload, workload(one.workload).policy});
    }
    const Done done = asked(work);
    std::vector<TunedWorkload> sound;
    for (size_t i = 0; i < tuned_.size(); ++i) {
      if (done.compiled[i]) {
        result_.failed.push_back(tuned_[i].workload);
        machine_.decide(
            fmt::format("workload {}", tuned_[i].workload),
            fmt::format("failed: {}, {}", name(done.compiled[i]->cause), done.compiled[i]->detail));
      } else {
        sound.push_back(std::move(tuned_[i]));
      }
    }
    tuned_ = std::move(sound);
  }

  Done asked(const Work& work) {
    Done done = machine_.work(work);
    elapsed_s_ = done.elapsed_s;
    return done;
  }
  bool out_of_time(double share = 1) const { return elapsed_s_ >= share * options_.budget_s; }

  void tell(JobProgress::Phase phase, double share) {
    JobProgress progress{phase, share, elapsed_s_, timed_};
    for (const TunedWorkload& one : tuned_) {
      const double speed_up = 1 / one.memory->seen()[0].share;
      if (speed_up <= progress.best_speed_up) continue;
      progress.best_speed_up = speed_up;
      progress.workload = one.workload;
    }
    listener_.progress(progress);
  }

  struct Candidate {
    size_t tuned = 0;  // index
    Policy policy;
    std::string text;
    bool again = false;  // its time was below what is possible: timed once more
  };

  std::vector<Candidate> propose() {
    std::vector<double> weights;
    for (const TunedWorkload& one : tuned_)
      weights.push_back(one.exhausted ? 0 : std::sqrt(one.share));
    std::vector<size_t> counts(tuned_.size());
    for (size_t i = 0; i < kBatch; ++i) {
      if (std::accumulate(weights.begin(), weights.end(), 0.0) <= 0) break;
      std::discrete_distribution<size_t> one(weights.begin(), weights.end());
      const size_t chosen = one(random_);
      if (++counts[chosen] == kMostOfOne) weights[chosen] = 0;
    }
    std::vector<Candidate> candidates;
    for (size_t i = 0; i < tuned_.size(); ++i) {
      if (counts[i] == 0) continue;
      std::vector<Policy> policies = tuned_[i].searcher->propose(counts[i]);
      if (policies.size() < counts[i]) tuned_[i].exhausted = true;
      for (Policy& policy : policies) {
        std::string text = to_string(policy, *tuned_[i].parsed);
        candidates.push_back({i, std::move(policy), std::move(text)});
      }
    }
    return candidates;
  }

  // Proposals are timed in batches, while the next batch is compiled.
  void search() {
    const size_t all = options_.samples * tuned_.size();
    std::vector<Candidate> ready;  // compiled and right
    const auto more = [&] { return proposed_ < all && !out_of_time(kSearchShare); };
    for (;;) {
      const std::vector<Candidate> next = more() ? propose() : std::vector<Candidate>{};
      proposed_ += next.size();
      if (next.empty() && ready.empty()) break;
      Work work;
      for (const Candidate& one : next) {
        work.compile.push_back({tuned_[one.tuned].workload, one.text});
      }
      const Screening screening(placed(ready), opened_, random_);
      work.measure = screening.wanted();
      const Done done = asked(work);
      std::vector<Candidate> again = learn(ready, screening, done.measured);
      ready = std::move(again);
      for (size_t i = 0; i < next.size(); ++i) {
        if (done.compiled[i]) tuned_[next[i].tuned].searcher->learn(next[i].policy, infinite());
        else ready.push_back(next[i]);
      }
      const double by_time = elapsed_s_ / (kSearchShare * options_.budget_s);
      const double by_count =
          static_cast<double>(proposed_) / static_cast<double>(std::max<size_t>(all, 1));
      tell(JobProgress::Phase::searching,
           kSearchShare * std::min(1.0, std::max(by_time, by_count)));
    }
  }

  std::vector<Proposal> placed(const std::vector<Candidate>& candidates) const {
    std::vector<Proposal> proposals;
    for (const Candidate& one : candidates) {
      proposals.push_back({tuned_[one.tuned].workload, one.text});
    }
    return proposals;
  }

  // Gives those that are to be timed again.
  std::vector<Candidate> learn(const std::vector<Candidate>& candidates, const Screening& screening,
                               const PassesResult& measured) {
    std::vector<Candidate> again;
    const std::vector<double> shares = screening.shares(measured);
    for (size_t i = 0; i < candidates.size(); ++i) {
      const Candidate& one = candidates[i];
      TunedWorkload& tuned = tuned_[one.tuned];
      double share = shares[i];
      if (std::isnan(share)) {
        // Faster than the machine can be, or never timed because another one ended the process.
        if (!one.again) {
          again.push_back(one);
          again.back().again = true;
          continue;
        }
        share = infinite();
      }
      ++timed_;
      tuned.searcher->learn(one.policy, share);
    }
    return again;
  }

  // The best of each workload against what stands.
  void race() {
    std::vector<Proposal> entrants;
    for (const TunedWorkload& one : tuned_) {
      const std::vector<SearchMemory::Seen>& seen = one.memory->seen();
      for (size_t k = 0; k < std::min(kFinalists, seen.size()) && seen[k].share < 1; ++k) {
        entrants.push_back({one.workload, to_string(seen[k].policy, *one.parsed)});
      }
    }
    Races races(workloads(), entrants, random_);
    while (!races.over() && !out_of_time(kConfirmedShare)) {
      races.add(asked({{}, races.next()}).measured);
      tell(JobProgress::Phase::racing, kSearchShare + 0.1 * races.share());
    }
    for (size_t i = 0; i < tuned_.size(); ++i) {
      if (const auto winner = races.winner(tuned_[i].workload)) {
        tuned_[i].winner = entrants[*winner].policy;
        machine_.decide(fmt::format("race of workload {}", tuned_[i].workload), *tuned_[i].winner);
      }
    }
  }

  // Each winner against what stands, in processes that know nothing of either.
  void confirm() {
    std::vector<Proposal> winners;
    for (const TunedWorkload& one : tuned_) {
      if (one.winner) winners.push_back({one.workload, *one.winner});
    }
    std::vector<std::vector<size_t>> groups;
    for (size_t i = 0; i < winners.size(); ++i) groups.push_back({i});
    Proofs confirmation(workloads(), winners, groups, false, block_pairs(opened_),
                        {.margin = opened_.margin}, random_);
    std::vector<bool> told(winners.size());
    while (!confirmation.over() && !out_of_time(kConfirmedShare)) {
      confirmation.add(asked({{}, confirmation.next()}).measured);
      for (size_t i = 0; i < winners.size(); ++i) {
        const Proof& proof = confirmation.proof(i);
        if (told[i] || proof.decision == ProofDecision::go_on) continue;
        told[i] = true;
        const bool is_accepted = proof.decision == ProofDecision::accepted;
        machine_.decide(
            fmt::format("confirmation of workload {}", winners[i].workload),
            fmt::format("{}, {} times as fast, {} to {}", is_accepted ? "accepted" : "rejected",
                        proof.speed_up.median, proof.speed_up.low, proof.speed_up.high));
        if (!is_accepted) continue;
        Gain gain = gain_of(confirmation, i);
        gain.before_ns /= uses(winners[i].workload);
        gain.after_ns /= uses(winners[i].workload);
        accepted_.push_back({winners[i].workload, winners[i].policy, gain});
        listener_.accepted(accepted_.back());
      }
      tell(JobProgress::Phase::confirming, kSearchShare + 0.1 + 0.25 * confirmation.share());
    }
  }

  Gain gain_of(const Proofs& proofs, size_t group) const {
    Gain gain = proofs.gain(group);
    gain.noise_floor = opened_.noise_floor;
    return gain;
  }
  double uses(int number) const { return static_cast<double>(workload(number).uses); }

  // What does not carry over to the whole model is taken back.
  void whole_model() {
    // Large gains first, as next_whole wants them.
    const auto saved_ns = [&](const Accepted& one) {
      return (one.gain.before_ns - one.gain.after_ns) * uses(one.workload);
    };
    std::sort(accepted_.begin(), accepted_.end(),
              [&](const Accepted& a, const Accepted& b) { return saved_ns(a) > saved_ns(b); });
    std::vector<WholeTrial> trials;
    std::vector<Gain> gains;  // of each
    for (;;) {
      const WholeStep step = next_whole(accepted_.size(), trials);
      if (step.done || out_of_time()) {
        if (!gains.empty()) result_.before_ns = gains.back().before_ns;
        if (step.done) keep(step.policies, trials, gains);
        else result_.taken_back = accepted_.size();
        return;
      }
      std::vector<Proposal> together;
      for (const size_t i : step.policies) {
        together.push_back({accepted_[i].workload, accepted_[i].policy});
      }
      std::vector<size_t> all(together.size());
      std::iota(all.begin(), all.end(), 0);
      // What a host feigns was held against each of them already.
      Proofs comparison(workloads(), together, {all}, true, block_pairs(opened_), {.margin = 0},
                        random_);
      while (!comparison.over() && !out_of_time()) {
        comparison.add(asked({{}, comparison.next()}).measured);
        tell(JobProgress::Phase::whole_model, kSearchShare + 0.35 + 0.15 * comparison.share());
      }
      trials.push_back({step.policies, comparison.proof(0)});
      machine_.decide(
          "whole model",
          fmt::format("{} policies together: {} times as fast, {} to {}", step.policies.size(),
                      comparison.proof(0).speed_up.median, comparison.proof(0).speed_up.low,
                      comparison.proof(0).speed_up.high));
      gains.push_back(gain_of(comparison, 0));
    }
  }

  void keep(const std::vector<size_t>& kept, const std::vector<WholeTrial>& trials,
            const std::vector<Gain>& gains) {
    for (const size_t i : kept) result_.accepted.push_back(accepted_[i]);
    result_.taken_back = accepted_.size() - kept.size();
    for (size_t i = 0; i < trials.size(); ++i) {
      if (trials[i].policies != kept) continue;
      const bool proven = trials[i].proof.decision == ProofDecision::accepted;
      (proven ? result_.gain : result_.unproven_gain) = gains[i];
      result_.before_ns = gains[i].before_ns;
    }
  }

  Machine& machine_;
  const Device& device_;
  const JobOptions& options_;
  const JobListener& listener_;
  Random random_;
  const std::shared_ptr<Ranker> ranker_ = std::make_shared<Ranker>();  // of all workloads
  Opened opened_;
  std::vector<TunedWorkload> tuned_;
  double elapsed_s_ = 0;
  size_t proposed_ = 0;
  size_t timed_ = 0;
  std::vector<Accepted> accepted_;  // before the whole model was looked at
  JobResult result_;
};

}  // namespace

JobResult tune_operators(Machine& machine, const Device& device, const JobOptions& options,
                         const JobListener& listener) {
  return Job(machine, device, options, listener).run();
}

}  // namespace aoe

#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <random>
#include <string>
#include <vector>

#include "expr/parse.h"
#include "policy/policy_text.h"
#include "policy/schedule.h"
#include "tune/job/job.h"

namespace aoe {

// A simulated machine. The time of a policy follows from the hash of its text, or from an override
// of `factor`; times are noisy, and some candidates fail on request.
class FakeRunner : public Runner {
 public:
  struct Faults {
    bool some_crash = false;      // during passes
    bool some_are_wrong = false;  // when compiled
    bool no_better = false;       // every policy is as fast as the default
  };

  explicit FakeRunner(Faults faults, uint64_t seed = 7) : faults_(faults), random_(seed) {
    for (const char* text :
         {"in %0 f32[64,96]\n%1 f32[64] = sum(r:96) %0[a, r]\nout %1\n",
          "in %0 f32[48,64]\nweight %1 f32[64,80]\n%2 f32[48,80] = sum(r:64) %0[a, r] * %1[r, b]\n"
          "out %2\n"}) {
      const Workload workload = parse_workload(text);
      const std::string policy = to_string(default_policy(workload, host_device()), workload);
      opened_.workloads.push_back({text, policy, 2, {{"node", "Node"}}, 1e5});
      opened_.least_ns.push_back(1);
    }
    opened_.rates = {100, 10};
    opened_.margin = 0.01;
    opened_.noise_floor = 1.004;
  }

  // Time relative to the default: 0.7 to 1.5.
  virtual double factor(const Candidate& candidate) const {
    if (faults_.no_better) return 1;
    return 0.7 +
           0.8 * static_cast<double>(std::hash<std::string>()(candidate.choice) % 1000) / 1000;
  }
  virtual double factor_at_first_sight(const Candidate& candidate) const {
    return factor(candidate);
  }
  bool is_wrong(const Candidate& candidate) const {
    return faults_.some_are_wrong && std::hash<std::string>()(candidate.choice) % 3 == 0 &&
           candidate.choice != opened_.workloads[static_cast<size_t>(candidate.workload)].policy;
  }
  bool crashes(const Candidate& candidate) const {
    return faults_.some_crash && std::hash<std::string>()(candidate.choice) % 7 == 1;
  }

  virtual bool crashes_in(const Candidate& candidate, const PassesRequest&) const {
    return crashes(candidate);
  }
  // Factor of all times of the pass with this number, beside the noise.
  virtual double pass_factor(const PassesRequest&, size_t /*pass*/) const { return 1; }

  OpenedModel open() override { return opened_; }
  Answer ask(const Request& request) override {
    Answer done;
    for (const Candidate& one : request.compile) {
      EXPECT_FALSE(to_string(parse_policy(one.choice, parse_workload(text_of(one))),
                             parse_workload(text_of(one)))
                       .empty());
      if (is_wrong(one)) done.compiled.push_back(Failure{Cause::wrong_result, "wrong"});
      else done.compiled.push_back(std::nullopt);
    }
    for (size_t p = 0; p < request.measure.passes.size(); ++p) {
      const Assignment& assignment = request.measure.passes[p];
      Pass pass;
      // Drift, and occasional interference by other processes.
      std::normal_distribution<double> noise(0, 0.003);
      drift_ = std::clamp(drift_ + noise(random_), -0.1, 0.1);
      const double common =
          std::exp(drift_) * (random_() % 20 == 0 ? 1.3 : 1) * pass_factor(request.measure, p);
      for (size_t w = 0; w < assignment.workloads.size(); ++w) {
        const CandidateId id = assignment.workloads[w];
        double ns = opened_.workloads[w].baseline_ns;
        if (id != CandidateId::baseline) {
          const Candidate& one = request.measure.candidates[index_of(id)];
          EXPECT_EQ(one.workload, static_cast<int>(w));
          EXPECT_FALSE(is_wrong(one)) << "timed though it is wrong";
          if (crashes_in(one, request.measure)) {
            done.measured = {{}, {{id, {Cause::crash, "signal 11"}}}};
            return finished(request, done);
          }
          const bool is_twin = request.measure.fresh && one.choice == opened_.workloads[w].policy;
          if (!is_twin) {
            ns *= request.measure.limits_ns.empty() ? factor(one) : factor_at_first_sight(one);
          }
        }
        pass.workload_ns.push_back(ns * common * std::exp(noise(random_)));
        pass.total_ns += pass.workload_ns.back();
      }
      done.measured.passes.push_back(pass);
    }
    return finished(request, done);
  }
  void record_decision(const std::string&, const std::string&) override {}

  double elapsed_s() const { return elapsed_s_; }
  virtual double seconds(const Request&) const { return 0.5; }
  const OpenedModel& opened() const { return opened_; }

 protected:
  OpenedModel opened_;

 private:
  const std::string& text_of(const Candidate& one) const {
    return opened_.workloads[static_cast<size_t>(one.workload)].text;
  }
  Answer finished(const Request& request, Answer done) {
    elapsed_s_ += seconds(request);
    done.elapsed_s = elapsed_s_;
    return done;
  }

  Faults faults_;
  std::mt19937_64 random_;
  double drift_ = 0;
  double elapsed_s_ = 0;
};

// Arguments of a whole job that tunes all or the chosen workloads.
struct JobCalls {
  std::vector<bool> chosen = {};
  std::vector<TransferSeed> seeds = {};
  std::function<void(const JobProgress&)> display = [](const JobProgress&) {};
  std::function<void(const Accepted&)> proven = [](const Accepted&) {};
};

inline JobResult tuned_operators(Runner& runner, const JobOptions& options,
                                 const JobCalls& calls = {}) {
  Job job(runner, host_device(), options, calls.display);
  const std::vector<bool> all(job.open().workloads.size(), true);
  job.choose(calls.chosen.empty() ? all : calls.chosen, calls.seeds);
  for (auto proven = job.next_proven(); !proven.empty(); proven = job.next_proven()) {
    for (const Accepted& one : proven) calls.proven(one);
  }
  return job.finish();
}

}  // namespace aoe

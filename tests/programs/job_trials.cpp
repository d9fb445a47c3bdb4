// Error rates and power of the decisions of a tuning job, measured on this machine through the
// job's own path: worker processes, passes over models, PairedBlocks, Proofs, Job.
//
//   job_trials COUNT MODELS CONDITION...      MODELS: files, separated by commas
//
//   aa                    confirmations of a policy that is the baseline's own: none is faster
//   aa-loaded             the same, with other processes at work on the other cores
//   aa-baseline-first     the same; in each process the baseline's kernels are made first
//   aa-candidate-first    the same; the candidate's are
//   gain-3, gain-5        confirmations where the baseline is slowed down by 3 or 5 percent
//   jobs                  whole jobs of 12 s all of whose candidates are copies of the baseline
//   jobs-simulated        the same on times drawn from 200 recorded processes
//   jobs-at-margin        the same, every candidate faster by just the margin: the hardest case in
//                         which nothing may be claimed. In half of all blocks a candidate looks
//                         better, so that an error rate beyond what is controlled shows
//
// Prints a line for each condition, and exits with 1 if a rate is proven to miss its bar. The
// workloads of a model are confirmed in the same passes, as in a job.

#include <fmt/format.h>
#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <sstream>
#include <string>
#include <vector>

#include "base/error.h"
#include "codegen/cpu_backend.h"
#include "expr/parse.h"
#include "measure/worker/worker_main.h"
#include "policy/policy_text.h"
#include "policy/schedule.h"
#include "tune/job/job.h"
#include "tune/runner/worker_runner.h"

namespace aoe {
namespace {

std::unique_ptr<Runner> runner_for(const std::string& model) {
  WorkerRunnerOptions options;
  options.target.model = model;
  options.target.threads = 1;
  options.device = host_backend()->device();
  options.device.cores = 1;
  return worker_runner(std::move(options));
}

// Passes requests on.
class Decorator : public Runner {
 public:
  explicit Decorator(Runner& inner) : inner_(inner) {}
  OpenedModel open() override { return opened_ = inner_.open(); }
  Answer ask(const Request& request) override { return inner_.ask(request); }
  void record_decision(const std::string&, const std::string&) override {}

 protected:
  Runner& inner_;
  OpenedModel opened_;
};

// Loads one side first in every process: the two uncounted passes of a block make the kernels.
// Groups have one candidate each, which is followed by its twin.
class LoadOrder : public Decorator {
 public:
  LoadOrder(Runner& inner, bool baseline_first)
      : Decorator(inner), baseline_first_(baseline_first) {}
  Answer ask(const Request& request) override {
    Request ordered = request;
    std::vector<Assignment>& passes = ordered.measure.passes;
    for (size_t w = 0; request.measure.fresh && w < passes[0].workloads.size(); ++w) {
      const CandidateId first = passes[0].workloads[w];
      const bool is_twin = first != CandidateId::baseline && index_of(first) % 2 == 1;
      if (first != CandidateId::baseline && is_twin != baseline_first_) {
        std::swap(passes[0].workloads[w], passes[1].workloads[w]);
      }
    }
    return inner_.ask(ordered);
  }

 private:
  bool baseline_first_;
};

// Replaces every candidate by a copy of the baseline's policy: a job of which every claim is false.
class Copies : public Decorator {
 public:
  using Decorator::Decorator;
  Answer ask(const Request& request) override {
    Request copied = request;
    for (auto* list : {&copied.compile, &copied.measure.candidates}) {
      for (Candidate& one : *list) {
        one.choice = opened_.workloads[static_cast<size_t>(one.workload)].policy;
      }
    }
    return inner_.ask(copied);
  }
};

// --- confirmations -------------------------------------------------------------------------------

std::vector<Proofs::Group> baseline_copies(const OpenedModel& opened, double error) {
  std::vector<Proofs::Group> groups;
  for (size_t w = 0; w < opened.workloads.size(); ++w) {
    if (opened.workloads[w].baseline_ns < kLeastShare * pass_ns(opened)) continue;
    groups.push_back({{{static_cast<int>(w), opened.workloads[w].policy}},
                      {.margin = opened.margin, .error = error}});
  }
  return groups;
}

struct Count {
  int accepted = 0;
  int trials = 0;
  double blocks = 0;
  double longest_s = 0;  // time of all passes of the blocks of one confirmation
};

// Confirms copies of the baseline of one model until there are `most` trials.
void add_confirmations(Runner& runner, const OpenedModel& opened, int most, uint64_t seed,
                       Count& count) {
  Random random(seed);
  const double error = ErrorBudget().next();  // of a job's first claim: the largest
  while (count.trials < most) {
    std::vector<Proofs::Group> groups = baseline_copies(opened, error);
    const size_t size = groups.size();
    Proofs proofs(opened, std::move(groups), PairedBlocks::Timed::workloads, random);
    std::vector<double> measured_s(size);
    while (!proofs.over()) {
      const PassesResult measured = runner.ask({{}, proofs.next()}).measured;
      double s = 0;
      for (const Pass& pass : measured.passes) s += pass.total_ns / 1e9;
      for (size_t g = 0; g < size; ++g) {
        if (proofs.proof(g).decision == ProofDecision::undecided) measured_s[g] += s;
      }
      proofs.add(measured);
    }
    for (size_t g = 0; g < size; ++g) {
      ++count.trials;
      if (proofs.proof(g).decision == ProofDecision::accepted) ++count.accepted;
      count.blocks += static_cast<double>(proofs.evidence(g).speed_ups.size());
      count.longest_s = std::max(count.longest_s, measured_s[g]);
    }
  }
}

// --- whole jobs ----------------------------------------------------------------------------------

bool claims_anything(Runner& runner, const JobOptions& options) {
  Device device = host_backend()->device();
  device.cores = 1;
  Job job(runner, device, options);
  job.choose(std::vector<bool>(job.open().workloads.size(), true), {});
  // A policy that is dropped later was claimed all the same: its user saw it.
  bool any = false;
  while (!job.next_proven().empty()) any = true;
  const JobResult result = job.finish();
  return any || !result.accepted.empty() || result.gain;
}

// Times of recorded processes, each with two copies of every kernel.
class RecordedNoise : public Runner {
 public:
  RecordedNoise(Runner& real, size_t processes) {
    opened_ = real.open();
    Random random(1);
    std::vector<PairedBlocks::Group> groups;
    for (const Proofs::Group& group : baseline_copies(opened_, 0.5))
      groups.push_back(group.candidates);
    PairedBlocks blocks(opened_, groups, PairedBlocks::Timed::workloads, random);
    while (recorded_.size() < processes) {
      const Request request{{}, blocks.next(std::vector<bool>(groups.size(), true))};
      const PassesResult measured = real.ask(request).measured;
      require(measured.passes.size() == request.measure.passes.size(), "a block was lost");
      record(request.measure, measured);
    }
    replace_workloads();
  }

  OpenedModel open() override { return opened_; }
  Answer ask(const Request& request) override {
    Answer done;
    done.compiled.resize(request.compile.size());
    if (request.measure.fresh || process_ == nullptr) {
      process_ = &recorded_[random_() % recorded_.size()];
      flipped_ = (random_() & 1) != 0;
      at_ = random_() % process_->size();
    }
    for (const Assignment& assignment : request.measure.passes) {
      // Passes follow each other as they were recorded, from a random one on.
      const std::vector<SideTimes>& times = (*process_)[at_++ % process_->size()];
      Pass pass;
      for (size_t w = 0; w < assignment.workloads.size(); ++w) {
        const CandidateId id = assignment.workloads[w];
        // No candidate of a search has the baseline's policy, but its twin in a block does.
        const bool baseline =
            id == CandidateId::baseline ||
            request.measure.candidates[index_of(id)].choice == opened_.workloads[w].policy;
        pass.workload_ns.push_back(times[w].ns[baseline != flipped_ ? 0 : 1] *
                                   (baseline ? slower_ : 1));
        pass.total_ns += pass.workload_ns.back();
      }
      done.measured.passes.push_back(std::move(pass));
    }
    elapsed_s_ += kRequestS + kCompileS * static_cast<double>(request.compile.size());
    for (const Pass& pass : done.measured.passes) elapsed_s_ += pass.total_ns / 1e9;
    done.elapsed_s = elapsed_s_;
    return done;
  }
  void record_decision(const std::string&, const std::string&) override {}

  // Lets the baseline take so many times as long.
  void slow_down_baseline(double factor) { slower_ = factor; }
  double margin() const { return opened_.margin; }

  void restart(uint64_t seed) {
    random_.seed(seed);
    process_ = nullptr;
    elapsed_s_ = 0;
  }

 private:
  // What a request and the compilation of a candidate take beside the passes, in a real job.
  static constexpr double kRequestS = 0.2;
  static constexpr double kCompileS = 0.03;

  // Of one workload in a pair of passes.
  struct SideTimes {
    double ns[2] = {0, 0};
  };
  using Process = std::vector<std::vector<SideTimes>>;  // by pair and workload

  // Decisions of a job depend on times, not on what is computed. Most of the time of a simulated
  // job would go to the search spaces of large workloads.
  void replace_workloads() {
    const Device device = host_backend()->device();
    for (size_t i = 0; i < opened_.workloads.size(); ++i) {
      OpenWorkload& one = opened_.workloads[i];
      one.text = fmt::format(
          "in %0 f32[{0},48]\nin %1 f32[48]\n"
          "%2 f32[{0},48] = %0[a, b] + %1[b]\nout %2\n",
          16 + i);
      const Workload small = parse_workload(one.text);
      one.policy = to_string(default_policy(small, device), small);
    }
  }

  void record(const PassesRequest& request, const PassesResult& measured) {
    Process& process = recorded_.emplace_back();
    for (size_t p = 2; p < measured.passes.size(); p += 2) {
      std::vector<SideTimes>& pair = process.emplace_back(opened_.workloads.size());
      for (size_t w = 0; w < pair.size(); ++w) {
        const CandidateId first = request.passes[p].workloads[w];
        const bool twin_first = first != CandidateId::baseline && index_of(first) % 2 == 1;
        pair[w].ns[twin_first ? 0 : 1] = measured.passes[p].workload_ns[w];
        pair[w].ns[twin_first ? 1 : 0] = measured.passes[p + 1].workload_ns[w];
      }
    }
  }

  OpenedModel opened_;
  std::vector<Process> recorded_;
  const Process* process_ = nullptr;
  bool flipped_ = false;
  double slower_ = 1;
  size_t at_ = 0;
  double elapsed_s_ = 0;
  Random random_{1};
};

// --- conditions ----------------------------------------------------------------------------------

// Between which bounds a rate lies with kConfidence (Clopper and Pearson).
std::pair<double, double> rate_interval(int seen, int all) {
  const auto at_most = [&](int count, double rate) {
    double sum = 0;
    for (int i = 0; i <= count; ++i) {
      sum += std::exp(std::lgamma(all + 1.0) - std::lgamma(i + 1.0) - std::lgamma(all - i + 1.0) +
                      i * std::log(rate) + (all - i) * std::log1p(-rate));
    }
    return sum;
  };
  const auto solve = [](const auto& below) {
    double low = 1e-12;
    double high = 1 - 1e-12;
    for (int i = 0; i < 60; ++i) (below((low + high) / 2) ? low : high) = (low + high) / 2;
    return low;
  };
  constexpr double kSide = (1 - kConfidence) / 2;
  return {seen == 0 ? 0 : solve([&](double p) { return 1 - at_most(seen - 1, p) < kSide; }),
          seen == all ? 1 : solve([&](double p) { return at_most(seen, p) > kSide; })};
}

// Memory and arithmetic in turns, on one core, until it is killed.
pid_t start_load(int core) {
  const pid_t child = fork();
  if (child != 0) return child;
  cpu_set_t cores;
  CPU_ZERO(&cores);
  CPU_SET(core, &cores);
  sched_setaffinity(0, sizeof cores, &cores);
  std::vector<char> from(64 << 20, 1);
  std::vector<char> to(from.size());
  for (uint64_t chain = 1;;) {
    std::memcpy(to.data(), from.data(), to.size());
    asm volatile("" : : "r"(to.data()) : "memory");
    for (int i = 0; i < 20'000'000; ++i) asm volatile("imul $3, %0, %0" : "+r"(chain));
  }
}

struct Bar {
  double most = 1;
  double least = 0;
};

bool report(const std::string& condition, const Count& count, const Bar& bar) {
  const auto [low, high] = rate_interval(count.accepted, count.trials);
  fmt::print("{:20} {} of {} accepted: {:.2f} %, between {:.2f} and {:.2f}; bar {} {:g} %",
             condition, count.accepted, count.trials, 100.0 * count.accepted / count.trials,
             100 * low, 100 * high, bar.least > 0 ? "at least" : "at most",
             100 * (bar.least > 0 ? bar.least : bar.most));
  if (count.blocks > 0) {
    fmt::print("; {:.1f} blocks, at most {:.2f} s of passes", count.blocks / count.trials,
               count.longest_s);
  }
  fmt::print("\n");
  std::fflush(stdout);
  return low <= bar.most && high >= bar.least;
}

bool run_confirmations(const std::string& condition, int trials,
                       const std::vector<std::string>& models) {
  Count count;
  Bar bar{.most = 0.005};
  std::vector<pid_t> load;
  if (condition == "aa-loaded") {
    for (int core = 1; core < static_cast<int>(sysconf(_SC_NPROCESSORS_ONLN)); ++core) {
      load.push_back(start_load(core));
    }
  }
  if (condition.starts_with("gain-")) {
    const std::string percent = condition.substr(5);
    bar = {.least = percent == "3" ? 0.80 : 0.95};
    // Candidates are numbered as they are adopted: each is followed by its twin, which is slowed.
    std::string faults;
    for (int id = 2; id <= 400; id += 2) faults += fmt::format("{}:slowed={},", id, percent);
    faults.pop_back();
    setenv("AOE_INJECT_FAULT", faults.c_str(), 1);
  }
  for (size_t m = 0; m < models.size(); ++m) {
    const std::unique_ptr<Runner> runner = runner_for(models[m]);
    const OpenedModel opened = runner->open();
    const int most = trials * static_cast<int>(m + 1) / static_cast<int>(models.size());
    if (condition.ends_with("-first")) {
      LoadOrder ordered(*runner, condition == "aa-baseline-first");
      add_confirmations(ordered, opened, most, m + 1, count);
    } else {
      add_confirmations(*runner, opened, most, m + 1, count);
    }
  }
  unsetenv("AOE_INJECT_FAULT");
  for (const pid_t child : load) {
    kill(child, SIGKILL);
    waitpid(child, nullptr, 0);
  }
  return report(condition, count, bar);
}

// Simulated jobs do not measure, so every core runs some: each child process counts its part.
int count_claims_in_parallel(RecordedNoise& noise, int first, int last) {
  const int children = static_cast<int>(sysconf(_SC_NPROCESSORS_ONLN));
  int results[2];
  require(pipe(results) == 0, "no pipe");
  for (int child = 0; child < children; ++child) {
    if (fork() != 0) continue;
    int claims = 0;
    for (int job = first + child; job < last; job += children) {
      const auto seed = static_cast<uint64_t>(job) + 1;
      noise.restart(seed);
      if (claims_anything(noise, {.seed = seed, .budget_s = 40})) ++claims;
    }
    _exit(write(results[1], &claims, sizeof claims) == sizeof claims ? 0 : 1);
  }
  int all = 0;
  for (int child = 0; child < children; ++child) {
    int claims = 0;
    int status = 0;
    wait(&status);
    require(status == 0 && read(results[0], &claims, sizeof claims) == sizeof claims,
            "a process of simulated jobs failed");
    all += claims;
  }
  close(results[0]);
  close(results[1]);
  return all;
}

bool run_jobs(const std::string& condition, int jobs, const std::vector<std::string>& models) {
  constexpr double kBudgetS = 12;
  Count count;
  for (size_t m = 0; m < models.size(); ++m) {
    const int most = jobs * static_cast<int>(m + 1) / static_cast<int>(models.size());
    if (condition != "jobs") {
      RecordedNoise noise(*runner_for(models[m]), 200);
      if (condition == "jobs-at-margin") noise.slow_down_baseline(1 + noise.margin());
      count.accepted += count_claims_in_parallel(noise, count.trials, most);
      count.trials = most;
    }
    for (; count.trials < most; ++count.trials) {
      const auto seed = static_cast<uint64_t>(count.trials) + 1;
      const std::unique_ptr<Runner> fresh = runner_for(models[m]);
      Copies copies(*fresh);
      if (claims_anything(copies, {.seed = seed, .budget_s = kBudgetS})) ++count.accepted;
    }
  }
  return report(condition, count, {.most = 0.01});
}

}  // namespace
}  // namespace aoe

int main(int argc, char** argv) {
  try {
    // The processes that measure are this program, too.
    if (argc >= 4 && std::string(argv[1]) == "worker") {
      return aoe::run_worker(std::stoi(argv[2]), std::stoi(argv[3]), argc > 4 ? argv[4] : "",
                             aoe::host_backend());
    }
    aoe::require(argc >= 4, "usage: job_trials COUNT MODELS CONDITION...");
    std::vector<std::string> models;
    std::istringstream list(argv[2]);
    for (std::string model; std::getline(list, model, ',');) models.push_back(model);
    bool met = true;
    for (int i = 3; i < argc; ++i) {
      const std::string condition = argv[i];
      const auto run = condition.starts_with("jobs") ? aoe::run_jobs : aoe::run_confirmations;
      met = run(condition, std::stoi(argv[1]), models) && met;
    }
    return met ? 0 : 1;
  } catch (const std::exception& error) {
    fmt::print(stderr, "job_trials: {}\n", error.what());
    return 2;
  }
}

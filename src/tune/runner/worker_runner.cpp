#include "tune/runner/worker_runner.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <map>
#include <mutex>
#include <thread>

#include "base/clock.h"
#include "base/error.h"
#include "base/notice.h"
#include "device/cores.h"
#include "device/measure.h"
#include "expr/parse.h"
#include "measure/host/host_check.h"
#include "measure/statistics/intervals.h"
#include "measure/statistics/screen.h"

// Answers the requests of a job by worker processes. In reading order:
//   measuring_cpus   divides the processors: measuring first, one for each thread of the model
//   open             checks the host, opens the model in the measuring worker, measures rates
//   ask              compiles and measures, at once if both have separate cores, else in turn
//     compiled         by several workers, each taking the next candidate
//     measured         by one worker, which has its own numbers for the candidates of a request
//     timed_alone      by the same one
//
// Invariant: one worker measures at a time, and no worker compiles on its processors meanwhile. A
// number in adopted_ stays valid when a process is replaced: its successor adopts the candidates.

namespace aoe {
namespace {

// Rounds for tasks that are timed alone. The minimum of the calls of a round removes short
// disturbances, the median over rounds slow ones.
constexpr int kRounds = 5;

// From the beginning of a block to that of the next. A proof of thirteen blocks then takes four
// seconds at least, so that a state of the machine that lasts for one cannot decide it.
constexpr double kBlockSpacingS = 0.3;

// Processors for measuring, one per thread, if others remain for compiling; otherwise empty.
std::vector<int> measuring_cpus(int threads) {
  std::vector<int> cpus = spread_over_cores(allowed_cpus());
  const auto wanted = static_cast<size_t>(threads);
  if (std::min(static_cast<size_t>(usable_cores()), cpus.size()) <= wanted) return {};
  cpus.resize(wanted);
  return cpus;
}

class WorkerRunner : public Runner {
 public:
  explicit WorkerRunner(WorkerRunnerOptions options)
      : options_(std::move(options)), began_ns_(steady_ns()) {
    measure_cpus_ = measuring_cpus(options_.target.threads);
    apart_ = !measure_cpus_.empty();
    const auto cores = static_cast<size_t>(usable_cores());
    compile_room_ = cores - measure_cpus_.size();
    if (!apart_) return;
    const std::vector<int> cpus = spread_over_cores(allowed_cpus());
    compile_cpus_.assign(cpus.begin() + static_cast<int64_t>(measure_cpus_.size()), cpus.end());
  }

  OpenedModel open() override {
    const HostFigures host = check_host();
    if (!options_.only_layouts) {
      for (const std::string& line : host_notes(host)) notice(line);
    }
    OpenedModel opened;
    opened.margin = kMargin * margin_factor(host);
    opened.noise_floor = host.noise_floor;
    opened.workloads = measurer().workloads();
    if (!options_.only_layouts) {
      opened.rates = measure_rates(options_.device, options_.target.threads);
      for (const OpenWorkload& one : opened.workloads) {
        const double operations = operations_of(parse_workload(one.text));
        opened.least_ns.push_back(static_cast<double>(one.uses) *
                                  least_ns(operations, opened.rates));
      }
    }
    opened.elapsed_s = elapsed_s();
    return opened;
  }

  Answer ask(const Request& request) override {
    Answer done;
    if (apart_ && !request.compile.empty() && !request.measure.passes.empty()) {
      std::exception_ptr error;
      std::thread compiling([&] {
        try {
          done.compiled = compiled(request.compile);
        } catch (...) {
          error = std::current_exception();
        }
      });
      try {
        done.measured = measured(request.measure);
      } catch (...) {
        compiling.join();
        throw;
      }
      compiling.join();
      if (error) std::rethrow_exception(error);
    } else {
      done.compiled = compiled(request.compile);
      done.measured = measured(request.measure);
    }
    done.alone_ns = timed_alone(request.alone);
    if (options_.stopped()) throw Interrupted();
    done.elapsed_s = elapsed_s();
    return done;
  }

  void record_decision(const std::string&, const std::string&) override {}

 private:
  double elapsed_s() const { return (steady_ns() - began_ns_) / 1e9; }

  Worker& measurer() {
    if (!measurer_) measurer_ = started(measure_cpus_);
    return *measurer_;
  }
  std::unique_ptr<Worker> started(const std::vector<int>& cpus) const {
    WorkerOptions options;
    options.refuse_spills = options_.refuse_spills;
    options.cpus = cpus;
    return std::make_unique<Worker>(options_.target, options);
  }

  std::vector<std::optional<Failure>> compiled(const std::vector<Candidate>& candidates) {
    std::vector<std::optional<Failure>> failures(candidates.size());
    const size_t count =
        std::min({static_cast<size_t>(options_.compile_jobs), compile_room_, candidates.size()});
    if (compilers_.size() < count) compilers_.resize(count);
    std::atomic<size_t> next{0};
    std::exception_ptr error;
    std::mutex mutex;
    std::vector<std::jthread> threads;
    for (size_t i = 0; i < count; ++i) {
      threads.emplace_back([&, i] {
        try {
          if (!compilers_[i]) compilers_[i] = started(compile_cpus_);
          for (size_t at; (at = next++) < candidates.size() && !options_.stopped();) {
            const auto answer = compilers_[i]->compile(candidates[at]);
            if (const auto* failure = std::get_if<Failure>(&answer)) failures[at] = *failure;
          }
        } catch (...) {
          const std::lock_guard lock(mutex);
          if (!error) error = std::current_exception();
        }
      });
    }
    threads.clear();
    if (error) std::rethrow_exception(error);
    return failures;
  }

  PassesResult measured(const PassesRequest& wanted) {
    if (wanted.passes.empty()) return {};
    if (wanted.fresh) begin_block();
    std::vector<CandidateId> ids;  // in the worker, of the candidates here
    std::map<Candidate, int> copies;
    for (const Candidate& candidate : wanted.candidates) {
      // Equal candidates of one request have separate kernels: a policy and its twin.
      const auto [known, added] = adopted_.try_emplace({candidate, copies[candidate]++});
      if (added) known->second = measurer().adopt(candidate);
      ids.push_back(known->second);
    }
    const auto translate = [&](CandidateId& id) {
      if (id != CandidateId::baseline) id = ids[index_of(id)];
    };
    std::vector<Assignment> assignments = wanted.passes;
    for (Assignment& assignment : assignments) {
      for (CandidateId& id : assignment.workloads) translate(id);
      translate(assignment.plan);
    }
    PassesResult result = measurer().passes(assignments, wanted.limits_ns);
    for (auto& [failed, failure] : result.failed) {
      if (failed == CandidateId::baseline) continue;
      std::erase_if(adopted_, [&](const auto& one) { return one.second == failed; });
      failed = id_of(static_cast<size_t>(std::find(ids.begin(), ids.end(), failed) - ids.begin()));
    }
    return result;
  }

  // A block gets a new process, and begins some time after the one before it.
  void begin_block() {
    const double wait_s = kBlockSpacingS - (steady_ns() - block_began_ns_) / 1e9;
    if (block_began_ns_ > 0 && wait_s > 0) {
      std::this_thread::sleep_for(std::chrono::duration<double>(wait_s));
    }
    block_began_ns_ = steady_ns();
    measurer().replace();
  }

  std::vector<std::vector<double>> timed_alone(const std::vector<std::string>& workloads) {
    if (workloads.empty()) return {};
    try {
      return measurer().time_tasks(workloads, kRounds);
    } catch (const Error&) {
      return std::vector<std::vector<double>>(workloads.size());  // for example out of memory
    }
  }

  WorkerRunnerOptions options_;
  double began_ns_;
  bool apart_ = false;       // compiling and measuring have separate cores
  size_t compile_room_ = 1;  // cores for compiling
  std::vector<int> compile_cpus_, measure_cpus_;
  std::unique_ptr<Worker> measurer_;
  std::vector<std::unique_ptr<Worker>> compilers_;
  std::map<std::pair<Candidate, int>, CandidateId> adopted_;  // by candidate and copy
  double block_began_ns_ = 0;
};

}  // namespace

std::unique_ptr<Runner> worker_runner(WorkerRunnerOptions options) {
  return std::make_unique<WorkerRunner>(std::move(options));
}

}  // namespace aoe

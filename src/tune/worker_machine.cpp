#include "tune/worker_machine.h"

#include <algorithm>
#include <atomic>
#include <map>
#include <mutex>
#include <thread>

#include "base/notice.h"
#include "device/cores.h"
#include "device/measure.h"
#include "expr/parse.h"
#include "measure/clock.h"
#include "measure/host_check.h"
#include "measure/intervals.h"
#include "measure/screen.h"

namespace aoe {
namespace {

class WorkerMachine : public Machine {
 public:
  explicit WorkerMachine(WorkerMachineOptions options)
      : options_(std::move(options)), began_ns_(steady_ns()) {
    measure_cpus_ = measuring_cpus(options_.target.threads);
    apart_ = !measure_cpus_.empty();
    const auto cores = static_cast<size_t>(usable_cores());
    compile_room_ = cores - measure_cpus_.size();
    if (!apart_) return;
    const std::vector<int> cpus = spread_over_cores(allowed_cpus());
    compile_cpus_.assign(cpus.begin() + static_cast<int64_t>(measure_cpus_.size()), cpus.end());
  }

  Opened open() override {
    const HostFigures host = check_host();
    for (const std::string& line : host_notes(host)) notice(line);
    Opened opened;
    opened.margin = kMargin * margin_factor(host);
    opened.noise_floor = host.noise_floor;
    opened.workloads = measurer().workloads();
    opened.rates = measure_rates(host_device(), options_.target.threads);
    for (const OpenWorkload& one : opened.workloads) {
      const double operations = operations_of(parse_workload(one.text));
      opened.least_ns.push_back(static_cast<double>(one.uses) * least_ns(operations, opened.rates));
    }
    opened.elapsed_s = elapsed_s();
    return opened;
  }

  Done work(const Work& work) override {
    Done done;
    if (apart_ && !work.compile.empty() && !work.measure.passes.empty()) {
      std::exception_ptr error;
      std::thread compiling([&] {
        try {
          done.compiled = compiled(work.compile);
        } catch (...) {
          error = std::current_exception();
        }
      });
      try {
        done.measured = measured(work.measure);
      } catch (...) {
        compiling.join();
        throw;
      }
      compiling.join();
      if (error) std::rethrow_exception(error);
    } else {
      done.compiled = compiled(work.compile);
      done.measured = measured(work.measure);
    }
    if (options_.stopped()) throw Interrupted();
    done.elapsed_s = elapsed_s();
    return done;
  }

  void decide(const std::string&, const std::string&) override {}

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

  std::vector<std::optional<Failure>> compiled(const std::vector<Proposal>& proposals) {
    std::vector<std::optional<Failure>> failures(proposals.size());
    const size_t count =
        std::min({static_cast<size_t>(options_.compile_jobs), compile_room_, proposals.size()});
    if (compilers_.size() < count) compilers_.resize(count);
    std::atomic<size_t> next{0};
    std::exception_ptr error;
    std::mutex mutex;
    std::vector<std::jthread> threads;
    for (size_t i = 0; i < count; ++i) {
      threads.emplace_back([&, i] {
        try {
          if (!compilers_[i]) compilers_[i] = started(compile_cpus_);
          for (size_t at; (at = next++) < proposals.size() && !options_.stopped();) {
            const auto answer =
                compilers_[i]->compile(proposals[at].workload, proposals[at].policy);
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

  PassesResult measured(const PassesWanted& wanted) {
    if (wanted.passes.empty()) return {};
    if (wanted.fresh) measurer().replace();
    std::vector<Candidate> numbers{0};
    for (const Proposal& proposal : wanted.candidates) {
      const auto [known, added] = adopted_.try_emplace({proposal.workload, proposal.policy});
      if (added) known->second = measurer().adopt(proposal.workload, proposal.policy);
      numbers.push_back(known->second);
    }
    std::vector<Assignment> assignments = wanted.passes;
    for (Assignment& assignment : assignments) {
      for (Candidate& candidate : assignment) candidate = numbers[static_cast<size_t>(candidate)];
    }
    PassesResult result = measurer().passes(assignments, wanted.limits_ns);
    for (FailedCandidate& failed : result.failed) {
      const auto at = std::find(numbers.begin(), numbers.end(), failed.candidate);
      std::erase_if(adopted_, [&](const auto& one) { return one.second == failed.candidate; });
      failed.candidate = static_cast<Candidate>(at - numbers.begin());
    }
    return result;
  }

  WorkerMachineOptions options_;
  double began_ns_;
  bool apart_ = false;  // compiling and measuring have cores of their own
  size_t compile_room_ = 1;
  std::vector<int> compile_cpus_, measure_cpus_;
  std::unique_ptr<Worker> measurer_;
  std::vector<std::unique_ptr<Worker>> compilers_;
  std::map<std::pair<int, std::string>, Candidate> adopted_;
};

}  // namespace

std::vector<int> measuring_cpus(int threads) {
  std::vector<int> cpus = spread_over_cores(allowed_cpus());
  const auto wanted = static_cast<size_t>(threads);
  if (std::min(static_cast<size_t>(usable_cores()), cpus.size()) <= wanted) return {};
  cpus.resize(wanted);
  return cpus;
}

std::unique_ptr<Machine> worker_machine(WorkerMachineOptions options) {
  return std::make_unique<WorkerMachine>(std::move(options));
}

}  // namespace aoe

#include <algorithm>
#include <limits>
#include <set>

#include "base/clock.h"
#include "base/parallel.h"
#include "measure/worker/worker_session.h"

// The timing requests of WorkerSession, in reading order: passes over the model with kernels of
// candidates, passes that compare plans, and calls of one workload alone. Except where plans are
// compared, all kernels of a request are made before the first is timed and run on the same work
// memory.

namespace aoe {
namespace {

using Phase = WorkerPage::Phase;

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

// Short calls are timed in batches, so that the time to read the clock does not matter.
constexpr double kBatchNs = 20e3;
constexpr double kMostBatched = 1000;

// A candidate is too slow if its first two runs exceed the limit, since another process may have
// interrupted one of them. The first run alone decides if it exceeds kFarBeyond times the limit and
// kLongNs, because a second one would take too long.
constexpr double kFarBeyond = 4;
constexpr double kLongNs = 100e6;

// Detects the candidates of a request that are too slow.
class SlowCandidates {
 public:
  // Records a run; whether it shows that the candidate is too slow.
  bool is_slow(CandidateId candidate, double ns, double limit_ns) {
    if (candidate == CandidateId::baseline || limit_ns <= 0) return false;
    Runs& runs = runs_[candidate];
    runs.least_ns = runs.count == 0 ? ns : std::min(runs.least_ns, ns);
    ++runs.count;
    return (runs.count == 2 && runs.least_ns > limit_ns) ||
           (runs.count == 1 && ns > std::max(kFarBeyond * limit_ns, kLongNs));
  }

 private:
  struct Runs {
    int count = 0;
    double least_ns = 0;
  };
  std::map<CandidateId, Runs> runs_;
};

FailedCandidate too_slow(CandidateId candidate, double ns, double limit_ns) {
  return {candidate,
          {Cause::time_out, fmt::format("it takes {:.0f} us, more than the limit of {:.0f} us",
                                        ns / 1e3, limit_ns / 1e3)}};
}

}  // namespace

// One pass over the model, with the kernel and the candidate of each step.
class WorkerSession::PassRun : public KernelOverride {
 public:
  struct Step {
    const Kernel* kernel = nullptr;
    CandidateId candidate = CandidateId::baseline;
    const InjectedFault* fault = nullptr;
    double ns = 0;
  };

  PassRun(WorkerSession& session, size_t steps) : steps(steps), session_(session) {}

  void run_kernel(size_t index, std::span<const void* const> inputs,
                  std::span<void* const> outputs) override {
    Step& step = steps[index];
    auto* const work = static_cast<std::byte*>(session_.work_.get());
    session_.page_.candidate.store(step.candidate, std::memory_order_relaxed);
    try {
      step.ns = session_.backend_->time_ns(
          [&] { run_with_fault(step.fault, *step.kernel, inputs, outputs, work); });
    } catch (const std::bad_alloc&) {
      throw CandidateStopped({Cause::out_of_memory, "it asks for more than the worker may have"});
    } catch (const Error& error) {
      throw CandidateStopped({Cause::wrong_result, error.what()});
    }
    session_.page_.candidate.store(CandidateId::baseline, std::memory_order_relaxed);
  }

  std::vector<Step> steps;

 private:
  WorkerSession& session_;
};

void WorkerSession::run_model(const LoadedModel& model, KernelOverride* kernel_override) {
  const Executable& executable = *model.executable();
  if (outputs_.empty()) {
    executable.run(inputs_, nullptr, kernel_override);
    return;
  }
  std::vector<TensorView> from;
  std::vector<TensorView> to;
  const auto view_of = [](const Tensor& tensor) {
    return TensorView{tensor.dtype(), tensor.shape(), const_cast<std::byte*>(tensor.raw())};
  };
  for (const Value& input : inputs_) from.push_back(view_of(input.tensor()));
  for (const Tensor& output : outputs_) to.push_back(view_of(output));
  executable.run_into(from, to, nullptr, kernel_override);
}

PassesResult WorkerSession::passes(const std::vector<Assignment>& assignments,
                                   const std::vector<double>& limits_ns) {
  require(model_.has_value(), "a single workload has no passes: it is called alone");
  for (const Assignment& assignment : assignments) {
    require(assignment.workloads.size() == workloads_.size(),
            "an assignment has {} candidates for {} workloads", assignment.workloads.size(),
            workloads_.size());
    if (assignment.plan != CandidateId::baseline) return plan_passes(assignments, assignment.plan);
  }
  ++requests_;
  PassesResult result;
  std::set<CandidateId> abandoned;
  const auto abandon = [&](CandidateId candidate, Failure failure) {
    abandoned.insert(candidate);
    made_.erase(candidate);
    result.failed.push_back({candidate, std::move(failure)});
  };
  for (const Assignment& assignment : assignments) {
    for (size_t w = 0; w < workloads_.size(); ++w) {
      const CandidateId candidate = assignment.workloads[w];
      if (abandoned.contains(candidate)) continue;
      auto failure = load(candidate, static_cast<int>(w), false);
      if (failure) abandon(candidate, std::move(*failure));
    }
  }
  size_t steps = 0;
  for (const SessionWorkload& of : workloads_) steps = std::max(steps, of.uses.back().step + 1);
  PassRun run(*this, steps);
  SlowCandidates slow;
  for (const Assignment& assignment : assignments) {
    for (size_t w = 0; w < workloads_.size(); ++w) {
      const CandidateId asked = assignment.workloads[w];
      const CandidateId candidate = abandoned.contains(asked) ? CandidateId::baseline : asked;
      const std::vector<KernelUse>& uses = workloads_[w].uses;
      for (size_t u = 0; u < uses.size(); ++u) {
        const Kernel* const kernel = candidate == CandidateId::baseline
                                         ? uses[u].kernel.get()
                                         : made(candidate, static_cast<int>(w)).kernels[u].get();
        run.steps[uses[u].step] = {kernel, candidate, fault_of(candidate, true), 0};
      }
    }
    page_.enter(Phase::timing);
    const double total_ns = backend_->time_ns([&] { run_model(*model_, &run); });
    Pass& seen = result.passes.emplace_back();
    seen.total_ns = total_ns;
    for (size_t w = 0; w < workloads_.size(); ++w) {
      double ns = 0;
      for (const KernelUse& use : workloads_[w].uses) ns += run.steps[use.step].ns;
      const CandidateId candidate = assignment.workloads[w];
      const bool gone = abandoned.contains(candidate);
      seen.workload_ns.push_back(gone ? kNaN : ns);
      const double limit_ns = w < limits_ns.size() ? limits_ns[w] : 0;
      if (gone || !slow.is_slow(candidate, ns, limit_ns)) continue;
      abandon(candidate, too_slow(candidate, ns, limit_ns).failure);
    }
  }
  return result;
}

// Every plan is loaded anew, the baseline too, in the order of first use: the placement of memory
// depends on what was loaded before. A failure while loading, such as too little memory for both,
// is attributed to `rival`.
PassesResult WorkerSession::plan_passes(const std::vector<Assignment>& assignments,
                                        CandidateId rival) {
  std::map<CandidateId, LoadedModel> models;
  for (const auto& [workloads, plan] : assignments) {
    require(std::all_of(workloads.begin(), workloads.end(),
                        [](CandidateId id) { return id == CandidateId::baseline; }),
            "plans are compared by the policies that loading gives their workloads");
    if (models.contains(plan)) continue;
    LoadOptions options{target_.input_shapes, target_.threads, target_.kernels};
    options.impl = target_.impl;
    if (plan != CandidateId::baseline) {
      const auto known = plans_.find(plan);
      require(known != plans_.end(), "plan {} is not known", plan);
      options.graph_times = {{known->second.graph, known->second.times}};
    }
    page_.enter(Phase::opening, rival);
    models.emplace(plan, LoadedModel::from_file(target_.model, options, host_));
  }
  PassesResult result;
  for (const Assignment& assignment : assignments) {
    page_.enter(Phase::timing, assignment.plan);
    const double begin = steady_ns();
    run_model(models.at(assignment.plan), nullptr);
    result.passes.push_back({steady_ns() - begin, {}});
  }
  return result;
}

// Reads other memory through all caches, to evict the data of earlier calls.
void WorkerSession::flush_caches() {
  constexpr int64_t kLeast = int64_t{64} << 20;
  constexpr int64_t kMost = int64_t{256} << 20;
  constexpr int64_t kLine = 64;
  if (flushing_.empty()) {
    const Device& device = backend_->device();
    const int64_t wanted = 2 * device.last_cache().bytes + 4 * threads_ * device.caches[1].bytes;
    flushing_.resize(static_cast<size_t>(std::clamp(wanted, kLeast, kMost)), 1);
  }
  const auto count = static_cast<int64_t>(flushing_.size());
  parallel_for(count, ceil_div(count, threads_), threads_, [&](int64_t first, int64_t last, int) {
    for (int64_t at = first; at < last; at += kLine) {
      const char read = static_cast<const volatile char&>(flushing_[static_cast<size_t>(at)]);
      static_cast<void>(read);
    }
  });
}

AloneResult WorkerSession::alone(int workload, const std::vector<CandidateId>& order, Caches caches,
                                 double limit_ns) {
  ++requests_;
  SessionWorkload& of = workload_at(workload);
  if (of.alone_outputs.empty()) {
    for (const Tensor& input : checker(of).inputs(0)) {
      of.alone_inputs.push_back(input.empty() ? Tensor{} : input.copied());
    }
    for (const int id : of.workload->outputs) {
      of.alone_outputs.emplace_back(of.workload->values[static_cast<size_t>(id)].type);
    }
  }
  AloneResult result;
  std::set<CandidateId> abandoned;
  const auto abandon = [&](FailedCandidate failed) {
    abandoned.insert(failed.candidate);
    made_.erase(failed.candidate);
    result.failed.push_back(std::move(failed));
  };
  for (const CandidateId candidate : order) {
    if (abandoned.contains(candidate)) continue;
    if (auto failure = load(candidate, workload, true)) abandon({candidate, std::move(*failure)});
  }
  std::vector<const void*> from;
  std::vector<void*> to;
  for (const Tensor& input : of.alone_inputs) from.push_back(input.raw());
  for (Tensor& output : of.alone_outputs) to.push_back(output.raw());
  auto* const work = static_cast<std::byte*>(work_.get());
  const HelpersAwake helpers(threads_);
  SlowCandidates slow;
  for (const CandidateId candidate : order) {
    if (abandoned.contains(candidate)) {
      result.ns.push_back(kNaN);
      continue;
    }
    const Kernel& kernel =
        candidate == CandidateId::baseline ? *of.baseline : *made(candidate, workload).alone;
    const InjectedFault* const fault = fault_of(candidate, true);
    const auto batch_ns = [&](int64_t calls) {
      const double ns = backend_->time_ns([&] {
        for (int64_t i = 0; i < calls; ++i) run_with_fault(fault, kernel, from, to, work);
      });
      return ns / static_cast<double>(calls);
    };
    double ns = 0;
    if (caches == Caches::cold) {
      flush_caches();
      page_.enter(Phase::timing, candidate);
      ns = batch_ns(1);
    } else {
      page_.enter(Phase::timing, candidate);
      const double first_ns = std::max(batch_ns(1), 1.0);
      const double calls = std::clamp(kBatchNs / first_ns, 1.0, kMostBatched);
      ns = batch_ns(static_cast<int64_t>(calls));
    }
    result.ns.push_back(ns);
    if (slow.is_slow(candidate, ns, limit_ns)) abandon(too_slow(candidate, ns, limit_ns));
  }
  return result;
}

}  // namespace aoe

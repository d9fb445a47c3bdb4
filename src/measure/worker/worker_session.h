#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "measure/worker/fault_injection.h"
#include "measure/worker/numeric_check.h"
#include "measure/worker/worker_client.h"
#include "measure/worker/worker_page.h"
#include "runtime/loaded_model.h"

namespace aoe {

// Thrown when a candidate cannot continue; the page names it. Ends the request.
class CandidateStopped : public std::exception {
 public:
  explicit CandidateStopped(Failure failure) : failure(std::move(failure)) {}
  const char* what() const noexcept override { return failure.detail.c_str(); }

  Failure failure;
};

// A WorkerSession is the state inside a worker process: the open model or workload and its
// candidates. Its methods implement those of Worker and record their progress on the page.
class WorkerSession {
 public:
  WorkerSession(const WorkerTarget& target, bool refuse_spills, std::vector<InjectedFault> faults,
                WorkerPage& page, const std::shared_ptr<const Backend>& backend);
  ~WorkerSession();

  const std::vector<OpenWorkload>& workloads() const { return described_; }

  std::optional<Failure> compile(CandidateId id, const Candidate& candidate);
  void adopt(CandidateId id, const Candidate& candidate);
  PassesResult passes(const std::vector<Assignment>& assignments,
                      const std::vector<double>& limits_ns);
  AloneResult alone(int workload, const std::vector<CandidateId>& order, Caches caches,
                    double limit_ns);
  std::vector<std::vector<double>> time_tasks(const std::vector<std::string>& workloads,
                                              int rounds);

 private:
  // A distinct workload, numbered as in workloads().
  struct SessionWorkload {
    std::shared_ptr<const Workload> workload;
    std::vector<KernelUse> uses;             // none without a model
    std::vector<Tensor> weights;             // of its first use
    std::shared_ptr<const Kernel> baseline;  // of its first use
    std::unique_ptr<Checker> checker;        // made on demand: the reference is slow
    std::vector<Tensor> alone_inputs;        // for calls outside of the model
    std::vector<Tensor> alone_outputs;
  };
  // The policy of a candidate and those of its kernels that are in memory.
  struct CandidateKernels {
    int workload = 0;
    Policy policy;
    std::vector<std::unique_ptr<Kernel>> kernels;  // one per use, because weights differ
    std::unique_ptr<Kernel> alone;                 // for calls outside of the model
    uint64_t last_used = 0;                        // value of requests_

    bool in_memory() const { return alone || !kernels.empty(); }
  };
  class PassRun;

  void open_model(const WorkerTarget& target);
  void open_workload(const std::string& text);
  SessionWorkload& workload_at(int workload);
  CandidateKernels& made(CandidateId candidate, int workload);
  const Checker& checker(SessionWorkload& of);
  // Makes the missing kernels of a candidate, for the model's steps or for calls alone. Returns the
  // failure, if one cannot be made.
  std::optional<Failure> load(CandidateId candidate, int workload, bool alone);
  PassesResult plan_passes(const std::vector<Assignment>& assignments, CandidateId rival);
  void run_model(const LoadedModel& model, KernelOverride* kernel_override);
  void flush_caches();
  // Drops the least recently used kernels while they hold more than kMostWeightBytes of weights,
  // but none that the current request has used.
  void make_room();
  static int64_t weight_bytes(const SessionWorkload& of);
  void grow_work(const Kernel& kernel);
  const InjectedFault* fault_of(CandidateId candidate, bool timing) const;

  WorkerPage& page_;
  bool refuse_spills_;
  std::vector<InjectedFault> faults_;
  int threads_;
  std::shared_ptr<const Backend> host_;     // unrestricted, for loading
  std::shared_ptr<const Backend> backend_;  // restricted to the target's instruction set
  WorkerTarget target_;
  std::optional<LoadedModel> model_;
  std::vector<Value> inputs_;    // of the model
  std::vector<Tensor> outputs_;  // empty if a type is unknown before a run
  std::vector<SessionWorkload> workloads_;
  std::vector<OpenWorkload> described_;
  std::map<CandidateId, CandidateKernels> made_;
  std::map<CandidateId, PlanChoice> plans_;
  uint64_t requests_ = 0;
  // Work memory of all timed kernels. They share it, so that its placement favours none.
  std::shared_ptr<void> work_;
  int64_t work_bytes_ = 0;
  std::vector<char> flushing_;
};

}  // namespace aoe

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

// A candidate cannot go on; the page says which. The rest of the request is not done.
class CandidateStopped : public std::exception {
 public:
  explicit CandidateStopped(Failure failure) : failure(std::move(failure)) {}
  const char* what() const noexcept override { return failure.detail.c_str(); }

  Failure failure;
};

// What a worker has open, in the worker's process: a model or a single workload, and the
// candidates for it. Its methods are those of Worker, and note on the page what they are at.
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
  std::vector<std::vector<double>> rounds_alone(const std::vector<std::string>& workloads,
                                                int rounds);

 private:
  // One distinct workload.
  struct SessionWorkload {
    std::shared_ptr<const Workload> workload;
    std::vector<KernelUse> uses;             // none without a model
    std::vector<Tensor> weights;             // of its first use
    std::shared_ptr<const Kernel> baseline;  // of its first use
    std::unique_ptr<Checker> checker;        // made when first needed: the reference takes long
    std::vector<Tensor> alone_inputs;        // to be called alone with
    std::vector<Tensor> alone_outputs;
  };
  // A policy, and the kernels by it that are in memory.
  struct CandidateKernels {
    int workload = 0;
    Policy policy;
    std::vector<std::unique_ptr<Kernel>> kernels;  // one for each use
    std::unique_ptr<Kernel> alone;
    uint64_t last_used = 0;

    bool in_memory() const { return alone || !kernels.empty(); }
  };
  class PassRun;

  void open_model(const WorkerTarget& target);
  void open_workload(const std::string& text);
  SessionWorkload& workload_at(int workload);
  CandidateKernels& made(CandidateId candidate, int workload);
  const Checker& checker(SessionWorkload& of);
  // Makes the kernels of a candidate that are not there yet, for the model's steps or to be called
  // alone. What is wrong with them, if anything.
  std::optional<Failure> load(CandidateId candidate, int workload, bool alone);
  PassesResult plan_passes(const std::vector<Assignment>& assignments, CandidateId rival);
  void run_model(const LoadedModel& model, KernelOverride* kernel_override);
  void flush_caches();
  // Kernels hold weights as they need them: what was unused for longest goes.
  void make_room();
  static int64_t weight_bytes(const SessionWorkload& of);
  void grow_work(const Kernel& kernel);
  const InjectedFault* fault_of(CandidateId candidate, bool timing) const;

  WorkerPage& page_;
  bool refuse_spills_;
  std::vector<InjectedFault> faults_;
  int threads_;
  std::shared_ptr<const Backend> host_;     // as it is, for loading
  std::shared_ptr<const Backend> backend_;  // with the target's vectors
  WorkerTarget target_;
  std::optional<LoadedModel> model_;
  std::vector<Value> inputs_;    // of the model
  std::vector<Tensor> outputs_;  // none if their types are not known before a run
  std::vector<SessionWorkload> workloads_;
  std::vector<OpenWorkload> described_;
  std::map<CandidateId, CandidateKernels> made_;
  std::map<CandidateId, PlanChoice> plans_;
  uint64_t requests_ = 0;
  // All kernels that are timed work in the same memory, so that none is favoured.
  std::shared_ptr<void> work_;
  int64_t work_bytes_ = 0;
  std::vector<char> flushing_;
};

}  // namespace aoe

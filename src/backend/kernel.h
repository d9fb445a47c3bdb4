#pragma once

#include <atomic>
#include <memory>
#include <span>
#include <vector>

#include "backend/backend.h"
#include "expr/evaluate.h"
#include "expr/workload.h"

namespace aoe {

// A workload, ready to run by a policy on so many threads. Immutable after construction, so several
// threads may run it at once.
class Kernel {
 public:
  // By the default policy. `weights` has a tensor for each input of the workload that is a weight,
  // and empty ones for the others.
  Kernel(const std::shared_ptr<const Workload>& workload, const Backend& backend, int threads,
         std::vector<Tensor> weights = {});
  // By a policy that may come from anywhere: one that is not valid for the workload fails.
  Kernel(const std::shared_ptr<const Workload>& workload, const Policy& policy,
         const Backend& backend, int threads, std::vector<Tensor> weights = {});

  // `inputs` as the workload lists them; those that are weights may be empty.
  std::vector<Tensor> run(const std::vector<Tensor>& inputs) const;
  // The same into memory that is there: tensors of the outputs' types, which share nothing with the
  // inputs or with each other.
  void run_into(const std::vector<Tensor>& inputs, std::vector<Tensor>& outputs) const;
  // The same on plain memory, null for inputs that are weights. `work` is separate memory, of
  // work_bytes(), aligned as what begins in an arena. Allocates nothing.
  void run_on(std::span<const void* const> inputs, std::span<void* const> outputs,
              std::byte* work) const;
  int64_t work_bytes() const;

  const Workload& workload() const { return *workload_; }
  const Policy& policy() const { return policy_; }
  const Program& program() const { return compiled_->program(); }

  // How often a loaded index was out of range, so that the reference ran instead to say which.
  int64_t fallbacks() const { return fallbacks_; }

  const CompiledProgram& compiled() const { return *compiled_; }

  // Vector registers that inner loops keep in memory: each costs more than a policy can gain.
  int spills() const;

 private:
  Kernel(std::shared_ptr<const Workload> workload, DecidedSchedule decided, const Backend& backend,
         int threads, std::vector<Tensor> weights);

  // What a workload of weights alone computes. Its values are numbered as the scheduled one's.
  Tensor computed(Workload of_weights, const Backend& backend) const;

  // Where the elements of a value are when it runs.
  struct Memory {
    enum class In : uint8_t { nothing, input, output, constant, work };
    In in = In::nothing;
    int64_t at = 0;  // which input or output, or where in the work memory
  };
  // Finds the memory of every value that the program reads or writes.
  void place_values();
  // Drops weights and constants that were laid out anew, and are not read as they were.
  void drop_unread();
  const void* memory_of(int value, std::span<const void* const> inputs,
                        std::span<void* const> outputs, std::byte* work) const;
  void run_reference(std::span<const void* const> inputs, std::span<void* const> outputs) const;

  std::shared_ptr<const Workload> workload_;
  Policy policy_;
  Workload scheduled_;  // the same computation, as the program does it
  std::vector<Tensor> weights_;
  std::unique_ptr<const CompiledProgram> compiled_;
  bool flush_denormals_ = true;
  std::vector<Memory> memory_;  // of each scheduled value
  int64_t values_bytes_ = 0;    // of the work memory, for the list of values and for those in it
  mutable std::atomic<int64_t> fallbacks_{0};
};

}  // namespace aoe

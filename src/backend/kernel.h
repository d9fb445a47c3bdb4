#pragma once

#include <atomic>
#include <memory>
#include <span>
#include <vector>

#include "backend/backend.h"
#include "expr/evaluate.h"
#include "expr/workload.h"

namespace aoe {

// A Kernel is a workload compiled for a policy and a number of threads, ready to run. Immutable
// after construction, so several threads may run it at once.
class Kernel {
 public:
  // With the default policy. `weights` has a tensor for each input of the workload that is a
  // weight, and empty ones for the others.
  Kernel(const std::shared_ptr<const Workload>& workload, const Backend& backend, int threads,
         std::vector<Tensor> weights = {});
  // With a policy from an untrusted source. Throws Error if it is not valid for the workload and
  // the device.
  Kernel(const std::shared_ptr<const Workload>& workload, const Policy& policy,
         const Backend& backend, int threads, std::vector<Tensor> weights = {});

  // Returns new tensors. `inputs` in the order of the workload; those that are weights may be
  // empty.
  std::vector<Tensor> run(const std::vector<Tensor>& inputs) const;
  // Writes to existing tensors of the outputs' types, which share no memory with the inputs or with
  // each other.
  void run_into(const std::vector<Tensor>& inputs, std::vector<Tensor>& outputs) const;
  // Runs on plain memory; inputs that are weights may be null. `work` is separate memory of
  // work_bytes(), aligned to kArenaAlignment. Allocates nothing.
  void run_on(std::span<const void* const> inputs, std::span<void* const> outputs,
              std::byte* work) const;
  int64_t work_bytes() const;

  const Workload& workload() const { return *workload_; }
  const Policy& policy() const { return policy_; }
  const Program& program() const { return compiled_->program(); }

  // Number of runs in which a loaded index was out of range, so that the reference ran to report
  // which one.
  int64_t fallbacks() const { return fallbacks_; }

  const CompiledProgram& compiled() const { return *compiled_; }

  // Sum of CompiledFunction::spills: instructions in inner loops that store vector registers to the
  // stack or reload them. They cost more than a policy can gain.
  int spills() const;

 private:
  Kernel(std::shared_ptr<const Workload> workload, DecidedSchedule decided, const Backend& backend,
         int threads, std::vector<Tensor> weights);

  // Returns the output of a workload that reads only weights and constants. Its values are numbered
  // as those of `scheduled_`.
  Tensor evaluate_weights(Workload of_weights, const Backend& backend) const;

  // Where the elements of a value are when it runs.
  struct Memory {
    enum class Storage : uint8_t { nothing, input, output, constant, work };
    Storage storage = Storage::nothing;
    int64_t at = 0;  // index of the input or output, or byte offset in the work memory
  };
  // Assigns memory to every value that the program reads or writes.
  void place_values();
  // Drops weights and constants that the program reads only in packed form, or not at all.
  void drop_unread();
  // Copies the remaining weights to aligned memory. In a model file they lie anywhere, and loads
  // that cross cache lines cost 5 % of an addition. Not those beyond the caches: reading them from
  // memory takes longer than that.
  void align_weights(const Device& device);
  const void* memory_of(int value, std::span<const void* const> inputs,
                        std::span<void* const> outputs, std::byte* work) const;
  void run_reference(std::span<const void* const> inputs, std::span<void* const> outputs) const;

  std::shared_ptr<const Workload> workload_;
  Policy policy_;
  Workload scheduled_;           // the same computation, as the schedule rewrote it
  std::vector<Tensor> weights_;  // by input; empty if not a weight, or dropped
  std::unique_ptr<const CompiledProgram> compiled_;
  bool flush_denormals_ = true;
  std::vector<Memory> memory_;  // of each value of `scheduled_`
  int64_t values_bytes_ = 0;    // part of the work memory: addresses of values, and values
  mutable std::atomic<int64_t> fallbacks_{0};
};

}  // namespace aoe

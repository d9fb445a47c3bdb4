#pragma once

#include <atomic>
#include <memory>
#include <span>
#include <vector>

#include "device/device.h"
#include "expr/evaluate.h"
#include "expr/workload.h"
#include "policy/schedule.h"

namespace aoe {

class Code;

// A workload as machine code. Immutable after construction, so several threads may run it at once.
class Kernel {
 public:
  // By the default policy. `weights` has a tensor for each input of the workload that is a weight,
  // and empty ones for the others.
  Kernel(std::shared_ptr<const Workload> workload, const Device& device,
         std::vector<Tensor> weights = {});
  // By a policy that may come from anywhere: one that is not valid for the workload fails.
  Kernel(std::shared_ptr<const Workload> workload, const Policy& policy, const Device& device,
         std::vector<Tensor> weights = {});
  ~Kernel();

  // `inputs` as the workload lists them; those that are weights may be empty.
  std::vector<Tensor> run(const std::vector<Tensor>& inputs, int threads) const;
  // The same into memory that is there: tensors of the outputs' types, which share nothing with the
  // inputs or with each other.
  void run_into(const std::vector<Tensor>& inputs, std::vector<Tensor>& outputs, int threads) const;
  // The same on plain memory, null for inputs that are weights. `work` is memory of its own, of
  // work_bytes(threads), aligned as what begins in an arena. Allocates nothing.
  void run_on(std::span<const void* const> inputs, std::span<void* const> outputs, std::byte* work,
              int threads) const;
  int64_t work_bytes(int threads) const;

  const Workload& workload() const { return *workload_; }
  const Policy& policy() const { return policy_; }

  // How often a loaded index was out of range, so that the reference ran instead to say which.
  int64_t fallbacks() const { return fallbacks_; }

  // The loop nests, for people.
  std::string loops_text() const;
  // All functions, as the compiler is given them and as it has made them.
  std::string llvm_text() const;
  std::string assembly_text() const;

  // Vector registers that inner loops keep in memory: each costs more than a policy can gain.
  int spills() const;

  // All functions: what each took to compile, its size.
  std::vector<std::shared_ptr<const Code>> codes() const;

  // One part of the work, done after those before it.
  class Step;

 private:
  struct Plan {
    Schedule schedule;
    Policy policy;
  };
  Kernel(std::shared_ptr<const Workload> workload, Plan plan, const Device& device,
         std::vector<Tensor> weights);
  static Plan default_plan(const Workload& workload, const Device& device);
  static Plan valid_plan(const Workload& workload, const Policy& policy, const Device& device);

  // Runs a stage that only lays out weights; what it makes is a constant from then on.
  void lay_out(size_t stage);

  // Where the elements of a value are when it runs.
  struct Memory {
    enum class In : uint8_t { nothing, input, output, constant, work };
    In in = In::nothing;
    int64_t at = 0;  // which input or output, or where in the work memory
  };
  // Finds the memory of every value that a step reads or writes.
  void place_values();
  // Drops weights and constants that steps have laid out anew, and do not read as they were.
  void drop_unread();
  const void* memory_of(int value, std::span<const void* const> inputs,
                        std::span<void* const> outputs, std::byte* work) const;
  // False if a loaded index was out of range.
  bool run_steps(std::span<const void* const> inputs, std::span<void* const> outputs,
                 std::byte* work, int threads) const;
  void run_reference(std::span<const void* const> inputs, std::span<void* const> outputs,
                     int threads) const;

  std::shared_ptr<const Workload> workload_;
  Policy policy_;
  Device device_;
  Workload scheduled_;  // the same computation, as the steps do it
  std::vector<std::unique_ptr<Step>> steps_;
  std::vector<Tensor> weights_;
  bool flush_denormals_ = true;
  std::vector<Memory> memory_;  // of each scheduled value
  int64_t values_bytes_ = 0;    // of the work memory, for the list of values and for those in it
  int64_t step_bytes_ = 0;      // and behind them, for each thread
  mutable std::atomic<int64_t> fallbacks_{0};
};

}  // namespace aoe

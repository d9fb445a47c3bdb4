#pragma once

#include <atomic>
#include <memory>
#include <span>
#include <vector>

#include "codegen/assemble.h"
#include "device/device.h"
#include "expr/evaluate.h"
#include "expr/workload.h"
#include "program/executor.h"

namespace aoe {

class Code;

// A workload, ready to run by a policy on so many threads. Immutable after construction, so several
// threads may run it at once.
class Kernel {
 public:
  // What runs the calls of its Program.
  enum class Engine : uint8_t {
    machine_code,
    interpreter,  // no code is generated: tells errors of programs from those of code generation
  };

  // By the default policy. `weights` has a tensor for each input of the workload that is a weight,
  // and empty ones for the others.
  Kernel(std::shared_ptr<const Workload> workload, const Device& device, int threads,
         std::vector<Tensor> weights = {});
  // By a policy that may come from anywhere: one that is not valid for the workload fails.
  Kernel(std::shared_ptr<const Workload> workload, const Policy& policy, const Device& device,
         int threads, std::vector<Tensor> weights = {}, Engine engine = Engine::machine_code);
  ~Kernel();

  // `inputs` as the workload lists them; those that are weights may be empty.
  std::vector<Tensor> run(const std::vector<Tensor>& inputs) const;
  // The same into memory that is there: tensors of the outputs' types, which share nothing with the
  // inputs or with each other.
  void run_into(const std::vector<Tensor>& inputs, std::vector<Tensor>& outputs) const;
  // The same on plain memory, null for inputs that are weights. `work` is memory of its own, of
  // work_bytes(), aligned as what begins in an arena. Allocates nothing.
  void run_on(std::span<const void* const> inputs, std::span<void* const> outputs,
              std::byte* work) const;
  int64_t work_bytes() const;

  const Workload& workload() const { return *workload_; }
  const Policy& policy() const { return policy_; }
  const Program& program() const { return executor_->program(); }

  // How often a loaded index was out of range, so that the reference ran instead to say which.
  int64_t fallbacks() const { return fallbacks_; }

  // All functions, as the compiler is given them and as it has made them.
  std::string llvm_text() const;
  std::string assembly_text() const;

  // Vector registers that inner loops keep in memory: each costs more than a policy can gain.
  int spills() const;

  // All functions: what each took to compile, its size.
  const std::vector<std::shared_ptr<const Code>>& codes() const { return codes_; }

 private:
  Kernel(std::shared_ptr<const Workload> workload, DecidedSchedule decided, const Device& device,
         int threads, std::vector<Tensor> weights, Engine engine);
  static DecidedSchedule valid_schedule(const Workload& workload, const Policy& policy,
                                        const Device& device);

  ProgramFunctions functions_of(const Program& program, Engine engine);
  // All functions, as `made` shows one.
  std::string text_of(std::string (*made)(const Device&, const EmitModule&)) const;
  // What a workload of weights alone computes. Its values are numbered as the scheduled one's.
  Tensor computed(Workload of_weights, Engine engine) const;

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
  Device device_;
  Workload scheduled_;  // the same computation, as the program does it
  std::vector<Tensor> weights_;
  std::vector<std::shared_ptr<const Code>> codes_;
  std::unique_ptr<Executor> executor_;
  bool flush_denormals_ = true;
  std::vector<Memory> memory_;  // of each scheduled value
  int64_t values_bytes_ = 0;    // of the work memory, for the list of values and for those in it
  mutable std::atomic<int64_t> fallbacks_{0};
};

}  // namespace aoe

#pragma once

#include "base/function_ref.h"
#include "codegen/jit.h"
#include "codegen/kernel.h"

namespace aoe {

// What a step finds when it runs: the memory of every value, memory of its own, and how to share
// work.
struct StepRun {
  void* const* values;  // by number; a view is the value it looks at
  std::byte* work;      // `threads` times what the step asks for
  int threads = 1;
  bool flush_denormals = true;
};

class Kernel::Step {
 public:
  virtual ~Step() = default;
  // False if a loaded index was out of range.
  virtual bool run(const StepRun& run) const = 0;
  // Memory that each thread needs while it runs, a multiple of kWorkAlignment.
  virtual int64_t work_bytes() const = 0;
  // The values whose memory it reads or writes, views as what they look at.
  virtual std::vector<int> values() const = 0;
  virtual std::string text() const = 0;

  // A function that it calls, and how it is made.
  struct Part {
    std::shared_ptr<const Code> code;
    EmitModule emit;  // valid as long as the step
  };
  virtual std::vector<Part> parts() const = 0;
};

// The workload with no inputs but its weights, for stages that need no others; `inputs` are they.
Workload with_weights_only(const Workload& workload, const std::vector<Tensor>& weights,
                           std::vector<Tensor>& inputs);

// What memory of a thread's own begins at: no two threads write to one cache line.
inline constexpr int64_t kWorkAlignment = 64;
inline int64_t aligned_work(int64_t bytes) {
  return (bytes + kWorkAlignment - 1) / kWorkAlignment * kWorkAlignment;
}

// Calls `body(first, last, work)` on parts of [0, count), on threads of which each has `work_bytes`
// of the run's memory to itself.
void share_work(const StepRun& run, int64_t count, int64_t grain, int64_t work_bytes,
                FunctionRef<void(int64_t, int64_t, std::byte*)> body);

}  // namespace aoe

#pragma once

#include <functional>

#include "codegen/jit.h"
#include "codegen/kernel.h"

namespace aoe {

// What a step finds when it runs: the memory of every value, and how to share work.
struct StepRun {
  std::vector<void*> values;  // by number; a view is the value it looks at
  int threads = 1;
  bool flush_denormals = true;
};

class Kernel::Step {
 public:
  virtual ~Step() = default;
  // False if a loaded index was out of range.
  virtual bool run(const StepRun& run) const = 0;
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

// Calls `body(first, last)` on parts of [0, count), on threads of which each has `scratch_bytes` of
// memory of its own.
void share_work(const StepRun& run, int64_t count, int64_t grain, int64_t scratch_bytes,
                const std::function<void(int64_t, int64_t, void*)>& body);

}  // namespace aoe

#pragma once

#include <span>
#include <vector>

#include "base/numerics.h"
#include "expr/workload.h"
#include "graph/graph.h"

namespace aoe {

// Describes a step of a run. Its pointers are valid during the call that it is passed to.
struct StepInfo {
  size_t index = 0;                      // among the steps of the run, from 0
  std::vector<const Node*> nodes;        // fused into this step
  const Workload* workload = nullptr;    // null for host kernels, late nodes and in-place steps
  bool compiled = false;                 // runs a kernel, not the reference
  bool changes_layout = false;           // its output layout differs from its input layout
  Numerics numerics = Numerics::direct;  // the class of algorithms that its kernel needs
};

// A StepObserver observes a run: it is called before and after every step, in the thread of the
// run.
class StepObserver {
 public:
  virtual ~StepObserver() = default;
  virtual void step_begins() = 0;
  virtual void step_ended(const StepInfo& step) = 0;
};

// A KernelOverride replaces the kernels of a run: it is called for each step that has a kernel,
// with the memory of that step, and runs another kernel for the same workload, for example. Weights
// that the graph has dropped are null in `inputs`.
class KernelOverride {
 public:
  virtual ~KernelOverride() = default;
  virtual void run_kernel(size_t step, std::span<const void* const> inputs,
                          std::span<void* const> outputs) = 0;
};

}  // namespace aoe

#pragma once

#include <span>
#include <vector>

#include "expr/workload.h"
#include "graph/graph.h"

namespace aoe {

// A step of a run. What it points at is there while a watch is told of it.
struct StepInfo {
  size_t index = 0;                    // among the steps of the run, from 0
  std::vector<const Node*> nodes;      // that it does as one
  const Workload* workload = nullptr;  // what it computes; nothing for what is no loop nest
  bool compiled = false;               // by a kernel
  bool changes_layout = false;         // its output layout differs from its input layout
};

// Told of every step of a run, in the thread of the run.
class Watch {
 public:
  virtual ~Watch() = default;
  virtual void step_begins() = 0;
  virtual void step_ended(const StepInfo& step) = 0;
};

// Runs the kernels of a run in its place, on the memory that they would have had: other kernels
// for the same workloads, say. `inputs` has null for weights.
class KernelOverride {
 public:
  virtual ~KernelOverride() = default;
  virtual void run_kernel(size_t step, std::span<const void* const> inputs,
                          std::span<void* const> outputs) = 0;
};

}  // namespace aoe

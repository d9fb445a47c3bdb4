#pragma once

#include <memory>
#include <random>
#include <vector>

#include "expr/workload.h"

namespace aoe {

// A workload made of a seed, with inputs for it. Some of its inputs may be weights.
struct RandomWorkload {
  std::shared_ptr<const Workload> workload;
  std::vector<Tensor> inputs;
  // For each output: how far kernels may be from the reference, relative to its largest number; 0
  // where they must give the very bits.
  std::vector<double> tolerances;
};

RandomWorkload random_workload(uint64_t seed);

}  // namespace aoe

#pragma once

#include <memory>
#include <random>
#include <vector>

#include "expr/workload.h"

namespace aoe {

// A random workload with inputs for it. Some of its inputs may be weights.
struct RandomWorkload {
  std::shared_ptr<const Workload> workload;
  std::vector<Tensor> inputs;
  // For each output: tolerance of kernels against the reference, relative to the magnitudes of its
  // terms (measure/worker/magnitude.h); 0 requires bitwise equality.
  std::vector<double> tolerances;
};

RandomWorkload random_workload(uint64_t seed);

}  // namespace aoe

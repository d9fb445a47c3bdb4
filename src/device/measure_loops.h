#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "device/device.h"

namespace aoe {

// A loop that does nothing but multiply and add.
struct FmaLoop {
  void (*run)(int64_t steps);
  double flops_per_step;
};

// Several for each instruction set: which number of independent sums keeps a processor busiest
// follows from how long its additions take and how many registers it has.
std::vector<FmaLoop> fma_loops(const Device& device);

// Copies past the caches. `count` is a multiple of 64, both sides are aligned to 64 bytes.
void streaming_copy(const Device& device, float* to, const float* from, size_t count);

}  // namespace aoe

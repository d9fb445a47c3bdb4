#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "device/device.h"

namespace aoe {

// A loop of independent chains of multiply-adds, to measure their peak rate.
struct FmaLoop {
  void (*run)(int64_t steps);
  double flops_per_step;
};

// Loops for the device's widest vectors (and AVX2 beside AVX-512) with different numbers of chains:
// which number saturates the units depends on the latency of a multiply-add and on the registers.
std::vector<FmaLoop> fma_loops(const Device& device);

// Copies `count` floats with non-temporal stores. `count` is a multiple of 64, both sides are
// aligned to 64 bytes.
void streaming_copy(const Device& device, float* to, const float* from, size_t count);

}  // namespace aoe

#pragma once

#include <cstdint>

#include "device/device.h"

namespace aoe {

// What cores are seen to do: the roof over every kernel that runs on them.
struct Rates {
  double fma_gflops = 0;  // fused multiply-adds of f32 count as two operations
  double copy_gbps = 0;   // bytes read and bytes written
};

// The best of several loops at the device's widest vectors, and the better one of a plain and a
// streaming copy beyond the caches. Takes about a second. Each thread stays on a separate core,
// those that share none first; throws Error if there are more threads than processors to run on.
Rates measure_rates(const Device& device, int threads);

// What it takes to hand work to helpers who are awake and to wait until they are done, in
// microseconds: the median of many times. 0 for one thread.
double measure_fork_join_us(int threads);

// Bytes that copies must touch to be sure of the memory's speed, not of a cache's.
int64_t bytes_beyond_caches(const Device& device, int threads);

}  // namespace aoe

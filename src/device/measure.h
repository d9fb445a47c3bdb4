#pragma once

#include <cstdint>

#include "device/device.h"

namespace aoe {

// Measured peak rates of some cores: the roofline of every kernel that runs on them.
struct Rates {
  double fma_gflops = 0;  // fused multiply-adds of f32 count as two operations
  double copy_gbps = 0;   // bytes read and bytes written
};

// Measures the best of several multiply-add loops, and the better of a plain and a streaming copy
// of more than the caches hold. Takes about a second. Each thread is pinned to a processor, one of
// each core before a second of any; throws Error if there are more threads than processors.
Rates measure_rates(const Device& device, int threads);

// Time of an empty parallel_for on busy-waiting helpers, in microseconds: the median of many runs.
// 0 for one thread.
double measure_fork_join_us(int threads);

// Bytes that copies of all threads together must touch so that memory bounds them, not a cache.
int64_t bytes_beyond_caches(const Device& device, int threads);

}  // namespace aoe

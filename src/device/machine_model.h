#pragma once

#include <algorithm>

#include "device/device.h"

// The machine model: the rates, latencies and sizes by which default policies are chosen, workloads
// are estimated and layouts are compared. Cycles are those of a generic core: they only have to be
// comparable with each other. Numbers without another source were fitted to times of kernels on
// Zen 4 and Sapphire Rapids (docs/performance.md).

namespace aoe::machine {

inline constexpr double kHertz = 3e9;  // nominal: estimates are ratios

// --- the core ---------------------------------------------------------------------------------

// Latency of a multiply-add in cycles: Zen 2 to 4, Skylake and later (uops.info).
inline constexpr double kLatency = 4;
inline constexpr double kLoadsPerCycle = 2;  // same source
// Cycles per multiply-add of whole vectors: twice as many for 64 bytes, because the units of Zen 4
// are 32 bytes wide (server cores with two units of 64 bytes are modelled in the same way).
inline double vector_cycles(const Device& device) { return device.vector_bytes > 32 ? 1 : 0.5; }
inline constexpr double kScalarCycles = 0.5;
// Cost of an operation on vectors, in multiplications.
inline constexpr double kDivision = 8;   // and square root
inline constexpr double kFunction = 15;  // exp, tanh etc.: polynomials of about as many operations

// --- loops ------------------------------------------------------------------------------------

// Largest stride along the lanes of a vector for which all memory in between is read by whole
// vectors, and the elements are picked out by shuffles. Beyond it, less than a quarter of what is
// read would be used, and elements are cheaper one by one: gathered, or copied.
inline constexpr int64_t kLargestDeinterleavedStride = 4;

inline constexpr double kIterationCycles = 2;       // overhead of one iteration
inline constexpr double kFoldingCycles = 12;        // horizontal reduction of a vector of sums
inline constexpr double kTransposedVector = 4;      // per vector transposed in registers, in loads
inline constexpr double kBoundsCheckedLoad = 3;     // load that may be out of bounds, in loads
inline constexpr double kItemOverheadCycles = 300;  // to start and finish a nest or product
// Minimum work per thread, because a helper needs about a microsecond to start: points of loops,
// and multiply-adds of products.
inline constexpr int64_t kPointsWorthSharing = 1 << 15;
inline constexpr int64_t kProductsWorthSharing = 1 << 17;

// --- products ---------------------------------------------------------------------------------

// Cost, in multiply-adds of vectors, of loading a vector of columns from the second-level cache,
// and of storing a line of results past the caches.
inline constexpr double kColumnFromL2 = 4.3;
inline constexpr double kStreamedLine = 3;
inline constexpr double kTileCycles = 60;      // overhead of a call of one tile
inline constexpr double kNextTileCycles = 10;  // overhead of a tile that follows another in a call
inline constexpr double kShareOfPeak = 0.85;   // fraction of the peak that products reach
// Packing: cycles per vector that is copied, per additional vector that is read for it (of which a
// stride uses only a part), and per element that is copied alone.
inline constexpr double kPackedVector = 3;
inline constexpr double kStridedExtraVector = 2;
inline constexpr double kElement = 2;
inline constexpr double kTransformed = 2.5;  // cycles per vector of a Winograd transform, in or out
// Prefetch distance in prepacked weights that are used once, in steps of the depth: some 30 cycles
// of multiply-adds, or of loads from the second-level cache. Size in bytes up to which the matrix
// of the next outer point is prefetched into that cache, beside the current one.
inline constexpr int64_t kPrefetchSteps = 4;
inline constexpr int64_t kLargestPrefetched = 256 << 10;
// Whether the hardware prefetches the next columns of a product. Zen does: software prefetches made
// models 1 to 5 % slower there. Sapphire Rapids does not prefetch beyond a page: there they saved a
// tenth of BERT's time.
inline bool has_column_prefetcher(const Device& device) {
  return device.micro_architecture.starts_with("znver");
}

// --- memory -----------------------------------------------------------------------------------

// Bytes per cycle by the level that holds the data; L1 and L2 by their ports, the others measured.
inline constexpr double kFirstLevel = 64;
inline constexpr double kSecondLevel = 32;
inline constexpr double kLastLevel = 12;
inline constexpr double kMemory = 6;

// Bytes that loops keep in a cache between two passes. The source of a window, per strip: small
// enough that copying and reducing alternate often, which hides the latency of memory, large enough
// that the halo of a strip is a small part of it.
inline constexpr int64_t kWindowStrip = 6 << 10;
// A row of which two are processed at a time: both stay in the first-level cache. A row that is
// read several times, and a block that is gathered before it is streamed: second-level cache.
inline constexpr int64_t kLargestPairedRow = 8 << 10;
inline constexpr int64_t kLargestRow = 256 << 10;
inline constexpr int64_t kLargestGathered = 128 << 10;
// Covered by the second-level TLB (1,536 pages of 4 KiB or more since Skylake), with a margin.
inline constexpr int64_t kTlbBytes = int64_t{4} << 20;

inline int64_t second_level_bytes(const Device& device) {
  constexpr int64_t kUnknown = 512 << 10;
  return device.caches[1].bytes > 0 ? device.caches[1].bytes : kUnknown;
}

// Cycles to move `bytes`, at the bandwidth of the smallest cache that holds all of them.
inline double moving_cycles(double bytes, const Device& device) {
  if (bytes <= static_cast<double>(device.caches[0].bytes)) return bytes / kFirstLevel;
  if (bytes <= static_cast<double>(second_level_bytes(device))) return bytes / kSecondLevel;
  return bytes / (bytes <= static_cast<double>(device.last_cache().bytes) ? kLastLevel : kMemory);
}

// Cycles to fetch weights; 0 if they stay in half of the second-level cache.
inline double fetching_cycles(double bytes, const Device& device) {
  const auto cache = static_cast<double>(second_level_bytes(device));
  return bytes > cache / 2 ? bytes / kMemory : 0;
}

// Whether results of this many bytes would be evicted from the caches before they are read, so that
// non-temporal stores are better.
inline bool exceeds_caches(const Device& device, int64_t bytes) {
  constexpr int64_t kLeast = int64_t{8} << 20;
  return bytes >= std::max(kLeast, device.last_cache().bytes / 4);
}

}  // namespace aoe::machine

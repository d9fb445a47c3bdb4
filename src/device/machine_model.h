#pragma once

#include <algorithm>

#include "device/device.h"

// The one model of a machine: the rates, latencies and sizes by which default policies are chosen,
// workloads are estimated and layouts are compared. Cycles are those of a core that nothing more is
// known of: they only have to be comparable with each other. Numbers without another source were
// fitted to kernels that were timed on Zen 4 and Sapphire Rapids (docs/performance.md).

namespace aoe::machine {

inline constexpr double kHertz = 3e9;  // nominal: estimates are ratios

// --- the core ---------------------------------------------------------------------------------

// Of a multiply-add: Zen 2 to 4, Skylake and later (uops.info).
inline constexpr double kLatency = 4;
inline constexpr double kLoadsPerCycle = 2;  // likewise
// A multiply-add of whole vectors: half as many start where they are twice as wide as the units
// that compute (Zen 4; server cores with two wide units are taken for the same).
inline double vector_cycles(const Device& device) { return device.vector_bytes > 32 ? 1 : 0.5; }
inline constexpr double kScalarCycles = 0.5;
// Of one operation on vectors, in those of a multiplication.
inline constexpr double kDivision = 8;   // square roots too
inline constexpr double kFunction = 15;  // exp, tanh and their like: polynomials of that many steps

// --- loops ------------------------------------------------------------------------------------

inline constexpr double kTurnCycles = 2;      // of a loop, beside its body
inline constexpr double kFoldingCycles = 12;  // the lanes of a sum become one
inline constexpr double kTurned = 4;          // a vector that is turned in registers, in loads
inline constexpr double kTested = 3;          // a load that may be outside, in loads
inline constexpr double kStepCycles = 300;    // to begin and end what runs by itself
// Less is not worth another thread, who is there after a microsecond: points of loops, and
// multiply-adds of products.
inline constexpr int64_t kPointsWorthSharing = 1 << 15;
inline constexpr int64_t kProductsWorthSharing = 1 << 17;

// --- products ---------------------------------------------------------------------------------

// Multiply-adds while a vector of columns comes from the second-level cache, and while a line of
// results goes past the caches.
inline constexpr double kFarColumn = 4.3;
inline constexpr double kStreamedLine = 3;
inline constexpr double kTileCycles = 60;      // beside its steps: to call one
inline constexpr double kNextTileCycles = 10;  // where one follows the other
inline constexpr double kShareOfPeak = 0.85;   // that products reach
// Packing: cycles for a vector that is copied, for each more of which a part is kept, and for an
// element by itself.
inline constexpr double kCopied = 3;
inline constexpr double kParted = 2;
inline constexpr double kElement = 2;
inline constexpr double kTransformed = 2.5;  // a vector of a Winograd tile, in or out
// Prefetching: steps of depth ahead in weights that lie in one piece, some 30 cycles of
// multiply-adds or what the second-level cache takes; and a matrix that may come into it beside the
// present one.
inline constexpr int64_t kPrefetchSteps = 4;
inline constexpr int64_t kLargestPrefetched = 256 << 10;
// Zen fetches the next columns by itself: hints cost models 1 to 5 % there. Where they spared
// Sapphire Rapids a tenth of BERT's time, the processor does not look beyond a page.
inline bool fetches_columns(const Device& device) {
  return device.micro_architecture.starts_with("znver");
}

// --- memory -----------------------------------------------------------------------------------

// Bytes a cycle, by where they come from and go to; L1 and L2 by their ports, the others measured.
inline constexpr double kFirstLevel = 64;
inline constexpr double kSecondLevel = 32;
inline constexpr double kLastLevel = 12;
inline constexpr double kMemory = 6;

// Bytes of rows and blocks that loops keep between two passes. Of a window's source in a strip: so
// few that copying and reducing take turns often and memory is never waited for long, but not so
// few that strips repeat too much of their neighbours.
inline constexpr int64_t kWindowStrip = 6 << 10;
// Two rows at a time stay in the first-level cache; a row that is read several times, and a block
// until it is written, in the second-level one.
inline constexpr int64_t kLargestPairedRow = 8 << 10;
inline constexpr int64_t kLargestRow = 256 << 10;
inline constexpr int64_t kLargestGathered = 128 << 10;
// What the second-level TLB covers (1,536 entries and more of 4 KiB since Skylake), with a margin.
inline constexpr int64_t kTlbBytes = int64_t{4} << 20;

inline int64_t second_level_bytes(const Device& device) {
  constexpr int64_t kUnknown = 512 << 10;
  return device.caches[1].bytes > 0 ? device.caches[1].bytes : kUnknown;
}

inline double moving_cycles(double bytes, const Device& device) {
  if (bytes <= static_cast<double>(device.caches[0].bytes)) return bytes / kFirstLevel;
  if (bytes <= static_cast<double>(second_level_bytes(device))) return bytes / kSecondLevel;
  return bytes / (bytes <= static_cast<double>(device.last_cache().bytes) ? kLastLevel : kMemory);
}

// Of weights that do not stay in the second-level cache.
inline double fetching_cycles(double bytes, const Device& device) {
  const auto cache = static_cast<double>(second_level_bytes(device));
  return bytes > cache / 2 ? bytes / kMemory : 0;
}

// Whether results of this many bytes would leave the caches before anyone reads them, so that they
// had better go past them.
inline bool exceeds_caches(const Device& device, int64_t bytes) {
  constexpr int64_t kLeast = int64_t{8} << 20;
  return bytes >= std::max(kLeast, device.last_cache().bytes / 4);
}

}  // namespace aoe::machine

#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace aoe {

// Alignment of every buffer in an arena, in bytes: a cache line, and the widest vectors.
inline constexpr int64_t kArenaAlignment = 64;

// A buffer of `bytes` that is in use from step `first` to step `last` of a run, both included.
struct Lifetime {
  int64_t bytes = 0;
  int first = 0;
  int last = 0;
};

// Positions of buffers in one block of memory. Buffers with overlapping lifetimes do not overlap.
struct Arena {
  std::vector<int64_t> offsets;  // of each buffer, in bytes
  int64_t bytes = 0;             // of the whole block
};

// Places the largest buffer first, each into the smallest gap between the buffers that are in use
// at the same time and were placed before it.
Arena arena_of(std::span<const Lifetime> lifetimes);

}  // namespace aoe

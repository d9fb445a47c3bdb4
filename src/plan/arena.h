#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace aoe {

// What begins in an arena begins here: at a cache line, aligned for the widest vectors.
inline constexpr int64_t kArenaAlignment = 64;

// Memory that is needed from one step of a run to another, both included.
struct Lifetime {
  int64_t bytes = 0;
  int first = 0;
  int last = 0;
};

// One block of memory that holds all, those that are needed at the same time apart.
struct Arena {
  std::vector<int64_t> offsets;  // of each
  int64_t bytes = 0;
};

// Places the largest first, each into the smallest gap that those placed before it leave.
Arena arena_of(std::span<const Lifetime> lifetimes);

}  // namespace aoe

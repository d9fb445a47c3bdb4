#pragma once

#include <compare>
#include <vector>

namespace aoe {

// How one stage's loops run. Axes count as the loop prints them.
struct LoopPolicy {
  int vector_axis = -1;  // -1: no vectors
  int lanes = 1;
  int unroll = 1;       // vectors side by side
  int block_axis = -1;  // another output axis, unrolled too
  int block = 1;
  bool streaming = false;  // stores go past the caches
  auto operator<=>(const LoopPolicy&) const = default;
};

// How a nest runs: how many of its axes are outer ones, which threads share, and each of its loops.
struct NestPolicy {
  int outer = 0;
  std::vector<LoopPolicy> loops;
  auto operator<=>(const NestPolicy&) const = default;
};

}  // namespace aoe

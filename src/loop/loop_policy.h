#pragma once

#include <compare>
#include <vector>

namespace aoe {

// The decisions about one Loop. Axes are indexes into Loop::extents.
struct LoopPolicy {
  int vector_axis = -1;    // -1: scalar code
  int lanes = 1;           // elements per vector
  int unroll = 1;          // vectors per iteration along vector_axis
  int block_axis = -1;     // an output axis besides it that is unrolled (register blocking), or -1
  int block = 1;           // positions of block_axis per iteration
  bool streaming = false;  // non-temporal stores
  auto operator<=>(const LoopPolicy&) const = default;
};

// The decisions about a nest: the number of outer axes, whose points threads divide, and its loops.
struct NestPolicy {
  int outer = 0;
  std::vector<LoopPolicy> loops;
  auto operator<=>(const NestPolicy&) const = default;
};

}  // namespace aoe

#pragma once

#include <optional>
#include <string>
#include <vector>

#include "plan/task.h"

namespace aoe {

// How the elements of a value lie in memory: its dimensions in an order, the outermost first. One
// of them may be cut into blocks: in its place blocks are counted, and positions in a block last.
struct Layout {
  std::vector<size_t> order;
  size_t blocked = 0;  // which dimension, if `block` is more than 1
  int64_t block = 1;   // divides that dimension's extent

  auto operator<=>(const Layout&) const = default;
};

// Those of values whose second dimension counts channels: as it is counted (NCHW), innermost
// (NHWC), or in blocks (NCHW16c).
Layout channels_first(size_t rank);
Layout channels_last(size_t rank);
Layout channels_blocked(size_t rank, int64_t block);

// "NHWC", "NCHW16c"; other ranks than 3 to 5 have numbers for letters.
std::string to_string(const Layout& layout);

// The task with that value of the graph, one that it takes or makes, in another layout than that in
// which its dimensions are counted. Nothing if it has to be seen as one piece of memory, if more
// than one thing is made of it, or if blocks would need divisions.
std::optional<Task> with_layout(const Task& task, int value, const Layout& layout);

}  // namespace aoe

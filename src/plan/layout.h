#pragma once

#include <optional>
#include <string>
#include <vector>

#include "plan/task.h"

namespace aoe {

// The order of a value's dimensions in memory, outermost first. One dimension may be split into
// blocks: the block number takes its place in `order`, and the position in a block is innermost.
struct Layout {
  std::vector<size_t> order;
  size_t blocked = 0;  // the dimension that is split, if `block` > 1
  int64_t block = 1;   // size of a block; divides the extent of that dimension

  auto operator<=>(const Layout&) const = default;
};

// Layouts of values whose second dimension is the channels: in the order of the graph (NCHW), with
// channels innermost (NHWC), or with blocks of channels innermost (NCHW16c).
Layout channels_first(size_t rank);
Layout channels_last(size_t rank);
Layout channels_blocked(size_t rank, int64_t block);

// "NHWC", "NCHW16c"; dimensions of ranks other than 3 to 5 have numbers instead of letters.
std::string to_string(const Layout& layout);

// Returns the task with `value`, a graph value that it reads or writes in the order of the graph's
// dimensions, in `layout`. Returns nullopt if a load or store would need a division, if an output
// is a view of an input, or if it shares its stage or its storage with another output.
std::optional<Task> with_layout(const Task& task, int value, const Layout& layout);

}  // namespace aoe

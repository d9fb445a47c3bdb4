#pragma once

#include "loop/group.h"
#include "loop/nest.h"

namespace aoe {

// Lowers the stages of a group to nests without decisions: loads name buffers, loops are split at
// the edges of padding, and axes that are contiguous in memory are merged. A group with outer axes
// is one nest; otherwise each part of a loop is one. `copies`: strided windows are read from a copy
// (loop/copied_windows.h).
std::vector<Nest> lower_group(const Workload& workload, const Group& group, bool copies);

// Lowers a single loop without splitting it, for loops that are not stages of a workload. Its loads
// index the shapes of `buffers`. The axis `*kept` is neither removed nor merged; it is updated to
// the new number of that axis.
Loop lower_loop(const std::vector<NestBuffer>& buffers, Loop loop, size_t outer,
                size_t* kept = nullptr);
// Splits a loop at the edges of padding and lowers each part.
std::vector<Loop> lower_parts(const std::vector<NestBuffer>& buffers, const Loop& loop,
                              size_t outer);

}  // namespace aoe

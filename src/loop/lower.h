#pragma once

#include "loop/group.h"
#include "loop/nest.h"

namespace aoe {

// The loops of a group's stages, before anything is decided about them: loads name buffers,
// elements that lie beyond an edge are parted from those that do not, and axes that memory does not
// tell apart are one. Parts that need other outer axes become separate nests.
// `copies` says whether windows may be copied first.
std::vector<Nest> lower(const Workload& workload, const Group& group, bool copies);

// A single loop whose loads index the buffers' shapes, whole and with the axis `kept` as it is
// (and at the end where it then stands): for what is no stage of a workload.
Loop lower_loop(const std::vector<NestBuffer>& buffers, Loop loop, size_t outer,
                size_t* kept = nullptr);
// The same of each of its parts.
std::vector<Loop> lower_parts(const std::vector<NestBuffer>& buffers, const Loop& loop,
                              size_t outer);

}  // namespace aoe

#pragma once

#include <optional>

#include "loop/nest.h"

namespace aoe {

// Lowers a reduction over small strided windows to a nest of its own. For each outer point it first
// copies the elements that the windows read, with padding, into a row where elements one stride
// apart are contiguous; the reduction then has contiguous loads only. Returns nothing if the loop
// is no such reduction or the row would be too large. Loads index the shapes of `buffers`.
std::optional<Nest> copy_windows(const std::vector<NestBuffer>& buffers, const Loop& loop);

// The same for a loop without a reduction, with a row for each point of the axis `strip`. The axes
// before it index the leading dimensions of the loads one to one. Returns nothing if a load that
// may leave its buffer is not such a window.
std::optional<Nest> copy_windows_by_strips(const std::vector<NestBuffer>& buffers, const Loop& loop,
                                           size_t strip);

}  // namespace aoe

#pragma once

#include <optional>

#include "loop/nest.h"

namespace aoe {

// A reduction over small windows that step by more than one, as a separate nest: what the windows
// of one outer point see is first copied into a row, with its surroundings, elements that lie a
// step apart side by side. Then every load of the reduction is plain. Nothing if the loop is no
// such reduction, or the row would be too large. The loop's loads index the shapes of `buffers`.
std::optional<Nest> copy_windows(const std::vector<NestBuffer>& buffers, const Loop& loop);

// The same for a loop that reduces nothing, and for one point of the axis `strip` at a time, before
// which stand the leading dimensions of what is loaded. Nothing if a load that may leave its buffer
// is no such window.
std::optional<Nest> windowed_strips(const std::vector<NestBuffer>& buffers, const Loop& loop,
                                    size_t strip);

}  // namespace aoe

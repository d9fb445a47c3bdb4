#pragma once

#include <optional>

#include "policy/nest.h"

namespace aoe {

// A reduction over small windows that step by more than one, as a nest of its own: what the windows
// of one outer point see is first copied into a row, with its surroundings, elements that lie a
// step apart side by side. Then every load of the reduction is plain. Nothing if the loop is no
// such reduction, or the row would be too large. The loop's loads index the shapes of `buffers`.
std::optional<Nest> windowed(const std::vector<NestBuffer>& buffers, const Loop& loop);

}  // namespace aoe

#pragma once

#include <optional>
#include <vector>

#include "plan/plan.h"

namespace aoe {

// The second dimension, which counts channels, innermost.
Layout channels_last(size_t rank);

// The task with that value of the graph, one that it takes or makes, in another layout. Nothing if
// it has to be seen as one piece of memory, or more than one thing is made of it.
std::optional<Task> with_layout(const Task& task, int value, const Layout& layout);

// Decides how the values between the steps of a plan lie in memory, and rewrites their tasks:
// around convolutions channels come last, so that they are products of matrices as they lie.
void choose_layouts(Plan& plan, const Graph& graph);

}  // namespace aoe

#pragma once

#include <optional>

#include "plan/task.h"

namespace aoe {

// `second`, an elementwise task, as what follows the last reduction of `first`: bias, activation
// and residual of a convolution are then computed where its sums are, and never go to memory in
// between. Nothing if the reduction's results are met in another order than they are made, or more
// than once. Nothing else may use what `first` makes.
std::optional<Task> with_epilogue(const Task& first, const Task& second);

}  // namespace aoe

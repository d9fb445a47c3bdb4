#pragma once

#include <optional>

#include "plan/task.h"

namespace aoe {

// Returns `first` with `second`, an elementwise task, as the epilogue of its last reduction: bias,
// activation and residual of a convolution are computed from its sums before they reach memory.
// Returns nullopt if `second` reads the sums in another order than they are computed or one sum for
// several results, or if its expression is too large. Nothing else may read the output of `first`.
std::optional<Task> with_epilogue(const Task& first, const Task& second);

}  // namespace aoe

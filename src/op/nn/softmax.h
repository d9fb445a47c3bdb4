#pragma once

#include "expr/builder.h"

namespace aoe {

// exp(x) / sum(exp(x)) along an axis, and its logarithm, without overflow. Small floats are rounded
// only at the end.
Operand softmax(Builder& b, const Operand& x, int64_t axis);
Operand log_softmax(Builder& b, const Operand& x, int64_t axis);

}  // namespace aoe

#pragma once

#include "expr/builder.h"

namespace aoe {

// exp(x) / sum(exp(x)) along an axis, and its logarithm, without overflow. Computed in at least f32
// and rounded once, at the end.
Operand softmax(Builder& b, const Operand& x, int64_t axis);
Operand log_softmax(Builder& b, const Operand& x, int64_t axis);

}  // namespace aoe

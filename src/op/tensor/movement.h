#pragma once

#include <vector>

#include "expr/builder.h"

namespace aoe {

// Axis i of the result is axis perm[i] of `x`; perm must be a permutation of x's axes.
Operand transpose(Builder& b, const Operand& x, const std::vector<int64_t>& perm);

// Concatenates operands that have the same type and, except along `axis`, the same shape; fails
// otherwise.
Operand concat(Builder& b, const std::vector<Operand>& parts, int64_t axis);

// The positions start, start + step, ..., `extent` of them, all of which must exist. `step` may be
// negative.
struct Range {
  int64_t start = 0;
  int64_t extent = 0;
  int64_t step = 1;
};

// Selects one range per axis of `x`.
Operand slice(Builder& b, const Operand& x, const std::vector<Range>& ranges);
// Selects `extent` positions along one axis and all along the others.
Operand slice(Builder& b, const Operand& x, int64_t axis, int64_t start, int64_t extent);

// Fails unless the sizes are not negative and add up to `extent`.
void require_parts(const std::vector<int64_t>& sizes, int64_t extent);

// Broadcasts by numpy's rules; fails if `shape` and the shape of x have no common shape.
Operand expand(Builder& b, const Operand& x, const Shape& shape);

// Number of elements to add before and after an axis; negative numbers crop.
struct Margin {
  int64_t before = 0;
  int64_t after = 0;
};
enum class PadMode { constant, edge, reflect, wrap };
// One margin per axis. PadMode::constant fills with `value`, a scalar, or with zero if not given.
Operand pad(Builder& b, const Operand& x, const std::vector<Margin>& margins, PadMode mode,
            const Expr& value = {});

}  // namespace aoe

#pragma once

#include <vector>

#include "expr/builder.h"

namespace aoe {

// Axis i of the result is axis perm[i] of `x`; perm must be a permutation of x's axes.
Operand transpose(Builder& b, const Operand& x, const std::vector<int64_t>& perm);

// All of one type and, but for `axis`, of one shape; fails if not.
Operand concat(Builder& b, const std::vector<Operand>& parts, int64_t axis);

// `extent` positions from `start`, each `step` (which may be negative) after the one before; all of
// them must exist.
struct Range {
  int64_t start = 0;
  int64_t extent = 0;
  int64_t step = 1;
};

// One range for each axis of `x`.
Operand slice(Builder& b, const Operand& x, const std::vector<Range>& ranges);
// `extent` positions along one axis, everything along the others.
Operand slice(Builder& b, const Operand& x, int64_t axis, int64_t start, int64_t extent);

// Fails unless the sizes are those of parts that make up an axis of `extent`.
void require_parts(const std::vector<int64_t>& sizes, int64_t extent);

// numpy's rules; fails if `shape` and x's shape have no common one.
Operand expand(Builder& b, const Operand& x, const Shape& shape);

// `value` (a scalar; zero if not given) before and after each axis; negative amounts cut off.
struct Margin {
  int64_t before = 0;
  int64_t after = 0;
};
enum class PadMode { constant, edge, reflect, wrap };
Operand pad(Builder& b, const Operand& x, const std::vector<Margin>& margins, PadMode mode,
            const Expr& value = {});

}  // namespace aoe

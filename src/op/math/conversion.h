#pragma once

#include "op/context.h"

namespace aoe {

// What Cast and the quantizing operators do with values that a small float cannot hold.
struct Float8CastRules {
  enum class PowerOfTwo : uint8_t { up, down, nearest };

  bool saturate = true;                      // to the largest value of the 8-bit floats
  PowerOfTwo power_of_two = PowerOfTwo::up;  // rounding to float8_e8m0fnu
};

// From the attributes `saturate` and `round_mode`.
Float8CastRules cast_rules(const OpContext& op);

Expr converted(const Expr& x, DType to, const Float8CastRules& rules);

}  // namespace aoe

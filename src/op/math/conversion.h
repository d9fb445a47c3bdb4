#pragma once

#include "op/context.h"

namespace aoe {

// Rounding and saturation of Cast and the quantizing operators for values that an 8-bit float
// cannot represent.
struct Float8CastRules {
  enum class PowerOfTwo : uint8_t { up, down, nearest };

  bool saturate = true;                      // clamp to the largest finite value of the 8-bit float
  PowerOfTwo power_of_two = PowerOfTwo::up;  // rounding mode for float8_e8m0fnu
};

// Reads the attributes `saturate` and `round_mode`.
Float8CastRules cast_rules(const OpContext& op);

Expr converted(const Expr& x, DType to, const Float8CastRules& rules);

}  // namespace aoe

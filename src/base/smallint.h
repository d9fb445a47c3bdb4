#pragma once

#include <cstdint>

namespace aoe {

// An integer of fewer than eight bits, kept in a byte; arithmetic happens in wider types and
// assignment wraps around.
template <int Bits, bool Signed>
struct SmallInt {
  int8_t value = 0;

  SmallInt() = default;
  explicit SmallInt(int64_t wide) : value(wrapped(wide)) {}
  operator int64_t() const { return wrapped(value); }

 private:
  static int8_t wrapped(int64_t wide) {
    const int64_t low = wide & ((1 << Bits) - 1);
    const bool negative = Signed && (low >> (Bits - 1)) != 0;
    return static_cast<int8_t>(negative ? low - (1 << Bits) : low);
  }
};

using Int4 = SmallInt<4, true>;
using UInt4 = SmallInt<4, false>;
using Int2 = SmallInt<2, true>;
using UInt2 = SmallInt<2, false>;

}  // namespace aoe

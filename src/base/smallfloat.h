#pragma once

#include <cstdint>

namespace aoe {

// How a small floating-point format lays out its bits, and what it has instead of IEEE's specials.
struct FloatFormat {
  int bits;
  int exponent_bits;
  int mantissa_bits;
  int bias;
  bool has_sign;
  bool has_infinity;     // the all-ones exponent means infinity or NaN, as in IEEE
  bool nan_is_minus_zero;  // the only NaN is the pattern of -0 (the "UZ" formats)
  bool has_nan;
};

// Rounds to nearest even. Values beyond the largest become infinity where the format has one and
// NaN where not; with `saturate`, the largest finite value (as ONNX's Cast asks for by default).
uint16_t encode(const FloatFormat& format, float value, bool saturate);
float decode(const FloatFormat& format, uint16_t pattern);

inline constexpr FloatFormat kHalf{16, 5, 10, 15, true, true, false, true};
inline constexpr FloatFormat kFloat8E4M3FN{8, 4, 3, 7, true, false, false, true};
inline constexpr FloatFormat kFloat8E4M3FNUZ{8, 4, 3, 8, true, false, true, true};
inline constexpr FloatFormat kFloat8E5M2{8, 5, 2, 15, true, true, false, true};
inline constexpr FloatFormat kFloat8E5M2FNUZ{8, 5, 2, 16, true, false, true, true};
inline constexpr FloatFormat kFloat8E8M0{8, 8, 0, 127, false, false, false, true};
inline constexpr FloatFormat kFloat4E2M1{4, 2, 1, 1, true, false, false, false};

// A float kept in few bits; arithmetic happens in float. `Saturates` tells what assignment does with
// values that do not fit.
template <const FloatFormat& Format, typename Bits, bool Saturates>
struct SmallFloat {
  Bits bits = 0;

  SmallFloat() = default;
  explicit SmallFloat(float value) : bits(static_cast<Bits>(encode(Format, value, Saturates))) {}
  operator float() const { return decode(Format, bits); }
};

using Half = SmallFloat<kHalf, uint16_t, false>;
using Float8E4M3FN = SmallFloat<kFloat8E4M3FN, uint8_t, true>;
using Float8E4M3FNUZ = SmallFloat<kFloat8E4M3FNUZ, uint8_t, true>;
using Float8E5M2 = SmallFloat<kFloat8E5M2, uint8_t, true>;
using Float8E5M2FNUZ = SmallFloat<kFloat8E5M2FNUZ, uint8_t, true>;
using Float8E8M0 = SmallFloat<kFloat8E8M0, uint8_t, true>;
using Float4E2M1 = SmallFloat<kFloat4E2M1, uint8_t, true>;

// The upper half of a float.
struct BFloat16 {
  uint16_t bits = 0;

  BFloat16() = default;
  explicit BFloat16(float value);
  operator float() const;
};

}  // namespace aoe

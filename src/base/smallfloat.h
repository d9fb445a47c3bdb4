#pragma once

#include <bit>
#include <cstdint>

namespace aoe {

// Bit layout of a small floating-point format, and its deviations from the special values of IEEE.
struct FloatFormat {
  int bits;
  int exponent_bits;
  int mantissa_bits;
  int bias;
  bool has_sign;
  bool has_infinity;       // the all-ones exponent means infinity or NaN, as in IEEE
  bool nan_is_minus_zero;  // the only NaN is the pattern of -0 (the "UZ" formats)
  bool has_nan;

  constexpr uint16_t sign_bit() const { return has_sign ? 1u << (bits - 1) : 0; }
  constexpr uint16_t magnitude_mask() const {
    return static_cast<uint16_t>((1u << (exponent_bits + mantissa_bits)) - 1);
  }
  constexpr uint16_t infinity() const {
    return static_cast<uint16_t>(((1u << exponent_bits) - 1) << mantissa_bits);
  }
  constexpr uint16_t nan() const {
    if (nan_is_minus_zero) return sign_bit();
    if (!has_infinity) return magnitude_mask();
    return static_cast<uint16_t>(infinity() | (1u << (mantissa_bits - 1)));  // quiet NaN
  }
  // The pattern of the largest finite value.
  constexpr uint16_t largest() const {
    if (has_infinity) return infinity() - 1;
    const bool top_is_nan = has_nan && !nan_is_minus_zero;
    return static_cast<uint16_t>(magnitude_mask() - (top_is_nan ? 1 : 0));
  }
};

inline constexpr FloatFormat kHalf{16, 5, 10, 15, true, true, false, true};
inline constexpr FloatFormat kBFloat16{16, 8, 7, 127, true, true, false, true};
inline constexpr FloatFormat kFloat8E4M3FN{8, 4, 3, 7, true, false, false, true};
inline constexpr FloatFormat kFloat8E4M3FNUZ{8, 4, 3, 8, true, false, true, true};
inline constexpr FloatFormat kFloat8E5M2{8, 5, 2, 15, true, true, false, true};
inline constexpr FloatFormat kFloat8E5M2FNUZ{8, 5, 2, 16, true, false, true, true};
inline constexpr FloatFormat kFloat8E8M0{8, 8, 0, 127, false, false, false, true};
inline constexpr FloatFormat kFloat4E2M1{4, 2, 1, 1, true, false, false, false};

// Both conversions are inline: with a constant format they fold to a few instructions.

constexpr float decode(const FloatFormat& format, uint16_t pattern) {
  // bfloat16 is the upper half of a float.
  if (format.bits == 16 && format.exponent_bits == 8) {
    return std::bit_cast<float>(static_cast<uint32_t>(pattern) << 16);
  }
  constexpr uint32_t kNaN = 0x7fc00000;
  constexpr uint32_t kInfinity = 0x7f800000;
  const uint32_t sign = (pattern & format.sign_bit()) != 0 ? 0x80000000u : 0;
  const uint32_t magnitude = pattern & format.magnitude_mask();
  const int mantissa_shift = 23 - format.mantissa_bits;
  if (format.has_infinity) {
    if (magnitude > format.infinity()) return std::bit_cast<float>(sign | kNaN);
    if (magnitude == format.infinity()) return std::bit_cast<float>(sign | kInfinity);
  } else if (format.nan_is_minus_zero) {
    if (pattern == format.nan()) return std::bit_cast<float>(kNaN);
  } else if (format.has_nan && magnitude == format.nan()) {
    return std::bit_cast<float>(sign | kNaN);
  }
  if (format.mantissa_bits == 0) {
    // Powers of two only; the lowest is below float's normal range.
    return std::bit_cast<float>(magnitude == 0 ? 0x00400000u : magnitude << 23);
  }
  if ((magnitude >> format.mantissa_bits) == 0) {
    const auto unit = static_cast<uint32_t>(127 + 1 - format.bias - format.mantissa_bits) << 23;
    const float value = static_cast<float>(magnitude) * std::bit_cast<float>(unit);
    return sign != 0 ? -value : value;
  }
  const auto rebias = static_cast<uint32_t>(127 - format.bias) << 23;
  return std::bit_cast<float>(sign | ((magnitude << mantissa_shift) + rebias));
}

// Rounds to nearest even. Values beyond the largest become infinity if the format has one, else
// NaN, else the largest. Values without a representation (NaN in 4 bits; zero, negative and tiny
// values in a format of powers of two) become NaN if the format has one, else zero.
constexpr uint16_t encode(const FloatFormat& format, double value) {
  const auto bits = std::bit_cast<uint64_t>(value);
  const bool negative = (bits >> 63) != 0;
  const uint64_t magnitude = bits << 1 >> 1;
  const uint16_t sign = negative ? format.sign_bit() : 0;
  const uint16_t signed_nan = format.nan_is_minus_zero ? format.nan() : sign | format.nan();
  if (magnitude > 0x7ff0000000000000) return format.has_nan ? signed_nan : 0;
  const bool only_powers = format.mantissa_bits == 0;
  if (only_powers && (negative || magnitude == 0)) return format.nan();

  // `units` is the value in units of its last place in the format, rounded to an integer. Denormal
  // doubles lack the implicit 1 of the significand, but are below the range of every format anyway.
  const int exponent = static_cast<int>(magnitude >> 52) - 1023;
  const int lowest = (only_powers ? 0 : 1) - format.bias;
  const int below = exponent < lowest ? lowest - exponent : 0;
  const int dropped = 52 - format.mantissa_bits + below;
  uint64_t units = 0;
  if (dropped <= 53) {
    const uint64_t significand = (uint64_t{1} << 52) | (magnitude & ((uint64_t{1} << 52) - 1));
    const uint64_t half = uint64_t{1} << (dropped - 1);
    const uint64_t rest = significand & (2 * half - 1);
    units = significand >> dropped;
    if (rest > half || (rest == half && (units & 1) != 0)) ++units;
  }
  if (only_powers && units == 0) return format.nan();
  // Rounding up to the next power of two carries into the exponent by itself.
  const int64_t pattern = (int64_t{exponent + below - lowest} << format.mantissa_bits) +
                          static_cast<int64_t>(units) - (only_powers ? 1 : 0);
  if (pattern > format.largest()) {
    if (format.has_infinity) return sign | format.infinity();
    return format.has_nan ? signed_nan : sign | format.largest();
  }
  if (pattern == 0 && format.nan_is_minus_zero) return 0;
  return sign | static_cast<uint16_t>(pattern);
}

// A floating-point number stored in Format; arithmetic happens in float.
template <const FloatFormat& Format, typename Bits>
struct SmallFloat {
  static constexpr const FloatFormat& format = Format;

  Bits bits = 0;

  SmallFloat() = default;
  // Takes a double, so that no value is rounded to float first.
  explicit SmallFloat(double value) : bits(static_cast<Bits>(encode(Format, value))) {}
  operator float() const { return decode(Format, bits); }
};

using Half = SmallFloat<kHalf, uint16_t>;
using BFloat16 = SmallFloat<kBFloat16, uint16_t>;
using Float8E4M3FN = SmallFloat<kFloat8E4M3FN, uint8_t>;
using Float8E4M3FNUZ = SmallFloat<kFloat8E4M3FNUZ, uint8_t>;
using Float8E5M2 = SmallFloat<kFloat8E5M2, uint8_t>;
using Float8E5M2FNUZ = SmallFloat<kFloat8E5M2FNUZ, uint8_t>;
using Float8E8M0 = SmallFloat<kFloat8E8M0, uint8_t>;
using Float4E2M1 = SmallFloat<kFloat4E2M1, uint8_t>;

}  // namespace aoe

#include "base/smallfloat.h"

#include <bit>
#include <cmath>
#include <limits>

namespace aoe {
namespace {

uint16_t sign_bit(const FloatFormat& format) {
  return format.has_sign ? static_cast<uint16_t>(1u << (format.bits - 1)) : 0;
}

uint16_t magnitude_mask(const FloatFormat& format) {
  return static_cast<uint16_t>((1u << (format.exponent_bits + format.mantissa_bits)) - 1);
}

uint16_t nan_pattern(const FloatFormat& format) {
  if (format.nan_is_minus_zero) return sign_bit(format);
  if (!format.has_infinity) return magnitude_mask(format);
  // A quiet NaN: all-ones exponent and the top mantissa bit.
  const unsigned exponent = ((1u << format.exponent_bits) - 1) << format.mantissa_bits;
  return static_cast<uint16_t>(exponent | (1u << (format.mantissa_bits - 1)));
}

uint16_t infinity_pattern(const FloatFormat& format) {
  return static_cast<uint16_t>(((1u << format.exponent_bits) - 1) << format.mantissa_bits);
}

uint16_t largest_pattern(const FloatFormat& format) {
  if (format.has_infinity) return infinity_pattern(format) - 1;
  const bool top_is_nan = format.has_nan && !format.nan_is_minus_zero;
  return magnitude_mask(format) - (top_is_nan ? 1 : 0);
}

}  // namespace

uint16_t encode(const FloatFormat& format, float value, bool saturate) {
  const bool negative = std::signbit(value);
  const uint16_t sign = negative ? sign_bit(format) : 0;
  if (std::isnan(value)) {
    if (!format.has_nan) return sign | largest_pattern(format);
    return format.nan_is_minus_zero ? nan_pattern(format) : sign | nan_pattern(format);
  }
  if (!format.has_sign && negative) return nan_pattern(format);
  const uint16_t largest = largest_pattern(format);
  const auto too_large = [&]() -> uint16_t {
    if (saturate || !format.has_nan) return sign | largest;
    if (format.has_infinity) return sign | infinity_pattern(format);
    return format.nan_is_minus_zero ? nan_pattern(format) : sign | nan_pattern(format);
  };
  const double magnitude = std::fabs(static_cast<double>(value));
  if (std::isinf(magnitude)) return too_large();
  if (magnitude == 0) return format.nan_is_minus_zero ? 0 : sign;

  // In units of the last place at this magnitude the value is a small number that rounds exactly.
  // A format without mantissa bits has no subnormals: its zero exponent is a power of two too.
  const int lowest = (format.mantissa_bits == 0 ? 0 : 1) - format.bias;
  const int exponent = std::max(std::ilogb(magnitude), lowest);
  const double units = std::nearbyint(std::ldexp(magnitude, format.mantissa_bits - exponent));
  // Rounding up to the next power of two carries into the exponent by itself.
  const int64_t hidden = int64_t{1} << format.mantissa_bits;
  const int64_t biased = exponent - lowest + (format.mantissa_bits == 0 ? 0 : 1);
  const int64_t pattern = (biased - 1) * hidden + static_cast<int64_t>(units);
  if (pattern > largest) return too_large();
  if (pattern <= 0 && format.nan_is_minus_zero) return 0;
  return sign | static_cast<uint16_t>(std::max<int64_t>(pattern, 0));
}

float decode(const FloatFormat& format, uint16_t pattern) {
  const bool negative = (pattern & sign_bit(format)) != 0;
  const uint16_t magnitude = pattern & magnitude_mask(format);
  if (format.nan_is_minus_zero && pattern == sign_bit(format)) {
    return std::numeric_limits<float>::quiet_NaN();
  }
  if (format.has_infinity && magnitude >= infinity_pattern(format)) {
    if (magnitude != infinity_pattern(format)) return std::numeric_limits<float>::quiet_NaN();
    const float infinity = std::numeric_limits<float>::infinity();
    return negative ? -infinity : infinity;
  }
  if (format.has_nan && !format.has_infinity && !format.nan_is_minus_zero &&
      magnitude == magnitude_mask(format)) {
    return std::numeric_limits<float>::quiet_NaN();
  }
  const int exponent = magnitude >> format.mantissa_bits;
  const int mantissa = magnitude & ((1 << format.mantissa_bits) - 1);
  const int hidden = 1 << format.mantissa_bits;
  float value;
  if (format.mantissa_bits == 0) {
    value = std::ldexp(1.0f, exponent - format.bias);
  } else if (exponent == 0) {
    value = std::ldexp(static_cast<float>(mantissa), 1 - format.bias - format.mantissa_bits);
  } else {
    value = std::ldexp(static_cast<float>(hidden + mantissa),
                       exponent - format.bias - format.mantissa_bits);
  }
  return negative ? -value : value;
}

BFloat16::BFloat16(float value) {
  const uint32_t pattern = std::bit_cast<uint32_t>(value);
  if (std::isnan(value)) {
    bits = static_cast<uint16_t>((pattern >> 16) | 0x40);
    return;
  }
  // Half a unit in the last place, a little less when the kept part is even.
  bits = static_cast<uint16_t>((pattern + 0x7fff + ((pattern >> 16) & 1)) >> 16);
}

BFloat16::operator float() const { return std::bit_cast<float>(static_cast<uint32_t>(bits) << 16); }

}  // namespace aoe

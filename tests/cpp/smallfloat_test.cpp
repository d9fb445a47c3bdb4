#include "base/smallfloat.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>
#include <vector>

namespace aoe {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

struct NamedFormat {
  std::string name;
  const FloatFormat& format;
};

const std::vector<NamedFormat>& all_formats() {
  static const std::vector<NamedFormat> formats{
      {"half", kHalf},           {"bfloat16", kBFloat16},
      {"e4m3fn", kFloat8E4M3FN}, {"e4m3fnuz", kFloat8E4M3FNUZ},
      {"e5m2", kFloat8E5M2},     {"e5m2fnuz", kFloat8E5M2FNUZ},
      {"e8m0", kFloat8E8M0},     {"e2m1", kFloat4E2M1},
  };
  return formats;
}

TEST(SmallFloat, EveryPatternSurvivesARoundTrip) {
  for (const auto& [name, format] : all_formats()) {
    for (unsigned pattern = 0; pattern < (1u << format.bits); ++pattern) {
      const float value = decode(format, static_cast<uint16_t>(pattern));
      const uint16_t again = encode(format, value);
      if (std::isnan(value)) {
        EXPECT_TRUE(std::isnan(decode(format, again))) << name << " " << pattern;
      } else {
        EXPECT_EQ(again, pattern) << name << " " << value;
      }
    }
  }
}

TEST(SmallFloat, LargerPatternsAreLargerNumbers) {
  for (const auto& [name, format] : all_formats()) {
    for (uint16_t pattern = 1; pattern <= format.largest(); ++pattern) {
      EXPECT_LT(decode(format, pattern - 1), decode(format, pattern)) << name << " " << pattern;
    }
  }
}

// The nearer of two neighbours; ties to the even bit pattern.
TEST(SmallFloat, RoundsToTheNearestAndTiesToEven) {
  for (const auto& [name, format] : all_formats()) {
    for (uint16_t low = 1; low < format.largest(); ++low) {
      const double a = decode(format, low);
      const double b = decode(format, low + 1);
      const double middle = (a + b) / 2;
      // Without a mantissa, ties go up.
      const uint16_t even = format.mantissa_bits == 0 || low % 2 != 0 ? low + 1 : low;
      EXPECT_EQ(encode(format, middle), even) << name << " " << middle;
      EXPECT_EQ(encode(format, std::nextafter(middle, 0.0)), low) << name << " " << middle;
      EXPECT_EQ(encode(format, std::nextafter(middle, kInf)), low + 1) << name << " " << middle;
      if (format.has_sign) {
        EXPECT_EQ(encode(format, -middle), even | format.sign_bit()) << name << " " << -middle;
      }
    }
  }
}

struct Known {
  std::string name;
  const FloatFormat& format;
  double value;
  uint16_t pattern;
};

TEST(SmallFloat, KnownValues) {
  const std::vector<Known> table{
      {"half one", kHalf, 1.0, 0x3c00},
      {"half smallest", kHalf, std::ldexp(1.0, -24), 0x0001},
      {"half smallest normal", kHalf, std::ldexp(1.0, -14), 0x0400},
      {"half largest", kHalf, 65504.0, 0x7bff},
      {"half just below overflow", kHalf, 65519.999, 0x7bff},
      {"half overflow", kHalf, 65520.0, 0x7c00},
      {"half minus infinity", kHalf, -kInf, 0xfc00},
      {"half NaN", kHalf, kNaN, 0x7e00},
      {"half underflow", kHalf, std::ldexp(1.0, -25), 0x0000},
      {"half minus underflow", kHalf, -1e-300, 0x8000},
      // Through float this would first round up to the tie, then to the even neighbour above.
      {"half rounds once", kHalf, 1 + std::ldexp(3.0, -11) - std::ldexp(1.0, -40), 0x3c01},
      {"bfloat16 one", kBFloat16, 1.0, 0x3f80},
      {"bfloat16 smallest", kBFloat16, std::ldexp(1.0, -133), 0x0001},
      {"bfloat16 overflow", kBFloat16, 3.4e38, 0x7f80},
      {"bfloat16 infinity", kBFloat16, kInf, 0x7f80},
      {"e4m3fn largest", kFloat8E4M3FN, 448.0, 0x7e},
      {"e4m3fn tie at the top", kFloat8E4M3FN, 464.0, 0x7e},
      {"e4m3fn overflow", kFloat8E4M3FN, 464.1, 0x7f},
      {"e4m3fn minus infinity", kFloat8E4M3FN, -kInf, 0xff},
      {"e4m3fn smallest", kFloat8E4M3FN, std::ldexp(1.0, -9), 0x01},
      {"e4m3fn minus zero", kFloat8E4M3FN, -0.0, 0x80},
      {"e4m3fnuz largest", kFloat8E4M3FNUZ, 240.0, 0x7f},
      {"e4m3fnuz overflow", kFloat8E4M3FNUZ, 250.0, 0x80},
      {"e4m3fnuz NaN", kFloat8E4M3FNUZ, kNaN, 0x80},
      {"e4m3fnuz has one zero", kFloat8E4M3FNUZ, -0.0, 0x00},
      {"e4m3fnuz minus underflow", kFloat8E4M3FNUZ, -1e-9, 0x00},
      {"e5m2 largest", kFloat8E5M2, 57344.0, 0x7b},
      {"e5m2 overflow", kFloat8E5M2, 61440.0, 0x7c},
      {"e5m2 NaN", kFloat8E5M2, kNaN, 0x7e},
      {"e5m2fnuz largest", kFloat8E5M2FNUZ, 57344.0, 0x7f},
      {"e5m2fnuz infinity", kFloat8E5M2FNUZ, kInf, 0x80},
      {"e8m0 one", kFloat8E8M0, 1.0, 127},
      {"e8m0 smallest", kFloat8E8M0, std::ldexp(1.0, -127), 0},
      {"e8m0 largest", kFloat8E8M0, std::ldexp(1.0, 127), 254},
      {"e8m0 tie", kFloat8E8M0, 1.5, 128},
      {"e8m0 overflow", kFloat8E8M0, std::ldexp(1.5, 127), 255},
      {"e8m0 has no zero", kFloat8E8M0, 0.0, 255},
      {"e8m0 has no sign", kFloat8E8M0, -1.0, 255},
      {"e2m1 half", kFloat4E2M1, 0.5, 1},
      {"e2m1 tie to zero", kFloat4E2M1, 0.25, 0},
      {"e2m1 largest", kFloat4E2M1, 6.0, 7},
      {"e2m1 saturates", kFloat4E2M1, kInf, 7},
      {"e2m1 saturates below", kFloat4E2M1, -100.0, 15},
      {"e2m1 has no NaN", kFloat4E2M1, kNaN, 0},
  };
  for (const Known& known : table) {
    EXPECT_EQ(encode(known.format, known.value), known.pattern) << known.name;
  }
}

TEST(SmallFloat, ConvertsBetweenFormats) {
  EXPECT_EQ(Half(1.5).bits, 0x3e00);
  EXPECT_EQ(static_cast<float>(BFloat16(Half(-2.0))), -2.0f);
  EXPECT_EQ(static_cast<float>(Half(Float8E4M3FN(448.0))), 448.0f);
}

}  // namespace
}  // namespace aoe

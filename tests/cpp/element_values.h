#pragma once

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <vector>

#include "base/tensor.h"

// Inputs of the tests of element operations, and the comparison of their results.

namespace aoe {

inline constexpr int64_t kCount = 1 << 16;

// Tolerance of a comparison: representable values between two results, and an absolute distance
// near zero.
struct Tolerance {
  int64_t steps = 0;
  double distance = 0;
};

// Edge cases first, then random bit patterns and ordinary numbers.
inline Tensor inputs_of(DType dtype, int which, bool pairs) {
  Tensor tensor(dtype, {kCount});
  std::mt19937_64 random(static_cast<unsigned>(which) + 17);
  const int bytes = info(dtype).bytes;
  if (dtype == DType::boolean) {
    for (int64_t i = 0; i < kCount; ++i) tensor.data<bool>()[i] = ((i >> which) & 1) != 0;
    return tensor;
  }
  if (bytes == 1) {
    // All patterns, or all pairs of them.
    for (int64_t i = 0; i < kCount; ++i) tensor.data<uint8_t>()[i] = i >> (which * 8) & 0xff;
    return tensor;
  }
  if (bytes == 2 && !pairs) {
    for (int64_t i = 0; i < kCount; ++i) tensor.data<uint16_t>()[i] = static_cast<uint16_t>(i);
    return tensor;
  }
  std::normal_distribution<double> normal(0, 10);
  std::vector<double> edges{
      0.0,      -0.0,     1,          -1,        0.5,     -0.5,       1.5,        2.5,
      -2.5,     3,        7,          8,         31,      32,         63,         64,
      65,       100,      127,        128,       255,     256,        -128,       -129,
      448,      464,      57344,      65504,     65519,   65520,      1e-40,      -1e-40,
      1e-8,     6e-8,     2.98e-8,    0x1p31,    -0x1p31, 0x1p32,     0x1.8p31,   0x1p33,
      0x1p62,   0x1p63,   -0x1p63,    -0x1.8p63, 0x1p64,  1e20,       -1e20,      88.72,
      88.73,    -87.3,    -87.4,      -103.9,    -104.1,  1e38,       3.4e38,     1e300,
      -1e300,   1e-300,   INFINITY,   -INFINITY, NAN,     2147483520, 4294967040, 0x1p-126,
      0x1p-127, 0x1p-128, 0x1.8p-127, 3.92,      9.01};
  dispatch(dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    T* to = tensor.data<T>();
    const auto count = static_cast<int64_t>(edges.size());
    for (int64_t i = 0; i < kCount; ++i) {
      const int64_t edge = which == 0 ? i % count : i / count;
      if constexpr (std::is_integral_v<T>) {
        constexpr std::array whole{std::numeric_limits<T>::min(),
                                   std::numeric_limits<T>::max(),
                                   T(0),
                                   T(1),
                                   T(-1),
                                   T(2),
                                   T(-2),
                                   T(3),
                                   T(7),
                                   T(31),
                                   T(32),
                                   T(63),
                                   T(64),
                                   T(65),
                                   T(-7),
                                   T(100)};
        const auto n = static_cast<int64_t>(whole.size());
        const int64_t place = which == 0 ? i % n : i / n;
        if (place < n && i < n * n) to[i] = whole[static_cast<size_t>(place)];
        else if (i % 2 == 0) to[i] = static_cast<T>(random());
        else to[i] = static_cast<T>(static_cast<int64_t>(normal(random)));
      } else if (edge < count && i < count * count) {
        to[i] = static_cast<T>(edges[static_cast<size_t>(edge)]);
      } else if (i % 2 == 0) {
        const uint64_t bits = random();
        std::memcpy(static_cast<void*>(&to[i]), &bits, sizeof(T));
      } else {
        to[i] = static_cast<T>(normal(random));
      }
    }
  });
  return tensor;
}

// Patterns in the order of their values.
template <typename Bits>
int64_t ordered(Bits bits, Bits sign) {
  const auto magnitude = static_cast<int64_t>(bits & static_cast<Bits>(~sign));
  return (bits & sign) != 0 ? -magnitude : magnitude;
}

template <typename T>
bool agree(const T& want, const T& got, const Tolerance& tolerance) {
  const void* const expected = &want;
  const void* const found = &got;
  if (std::memcmp(expected, found, sizeof(T)) == 0) return true;
  if constexpr (std::is_same_v<T, float> || std::is_same_v<T, double> || requires { T::format; }) {
    const auto x = static_cast<double>(want);
    const auto y = static_cast<double>(got);
    if (std::isnan(x) || std::isnan(y)) return std::isnan(x) && std::isnan(y);
    if (tolerance.steps == 0) return false;
    if (std::fabs(x - y) <= tolerance.distance) return true;
    using Bits = std::conditional_t<
        sizeof(T) == 8, uint64_t,
        std::conditional_t<sizeof(T) == 4, uint32_t,
                           std::conditional_t<sizeof(T) == 2, uint16_t, uint8_t>>>;
    Bits sign = Bits{1} << (sizeof(Bits) * 8 - 1);
    if constexpr (requires { T::format; }) sign = T::format.sign_bit();
    const int64_t steps =
        ordered(std::bit_cast<Bits>(want), sign) - ordered(std::bit_cast<Bits>(got), sign);
    // Types narrower than f32 may differ by one step, because the result is rounded from f32.
    return std::abs(steps) <= (sizeof(T) >= 4 ? tolerance.steps : 1);
  }
  return false;
}

template <typename T>
double shown(const T& value) {
  if constexpr (requires { static_cast<float>(value); })
    return static_cast<double>(static_cast<float>(value));
  else return static_cast<double>(static_cast<int64_t>(value));
}

}  // namespace aoe

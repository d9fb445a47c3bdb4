#pragma once

#include <array>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string_view>

namespace aoe {

// What a processor may have beyond its baseline, as far as kernels use it. Those that make vectors
// wider are named after what they are with everything that kernels then expect beside it.
enum class Feature : uint8_t {
  none,  // asks for nothing
  fma,
  f16c,
  sse2,    // vectors of 16 bytes: part of every x86_64
  avx2,    // of 32
  avx512,  // of 64: AVX-512 F, CD, BW, DQ and VL
};

inline constexpr std::array kFeatures{Feature::fma, Feature::f16c, Feature::sse2, Feature::avx2,
                                      Feature::avx512};
// Those that kernels can be made for alone, the narrowest vectors first.
inline constexpr std::array kVectorFeatures{Feature::sse2, Feature::avx2, Feature::avx512};

std::string_view name(Feature feature);
std::optional<Feature> vector_feature_named(std::string_view name);
int vector_bytes(Feature vectors);
int vector_registers(Feature vectors);

// A set of features.
class Features {
 public:
  constexpr Features() = default;
  constexpr Features(std::initializer_list<Feature> features) {
    for (const Feature feature : features) set(feature, true);
  }

  constexpr bool has(Feature feature) const { return (bits_ & bit(feature)) == bit(feature); }
  constexpr bool has_all(Features others) const { return (others.bits_ & ~bits_) == 0; }
  constexpr bool empty() const { return bits_ == 0; }
  constexpr void set(Feature feature, bool there) {
    bits_ = there ? bits_ | bit(feature) : bits_ & ~bit(feature);
  }
  constexpr bool operator==(const Features&) const = default;

 private:
  static constexpr uint32_t bit(Feature feature) {
    return feature == Feature::none ? 0 : 1u << static_cast<int>(feature);
  }
  uint32_t bits_ = 0;
};

}  // namespace aoe

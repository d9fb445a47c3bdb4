#pragma once

#include <array>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string_view>

namespace aoe {

// Processor features that kernels use. A vector feature implies the others that kernels of its
// width expect: avx2 implies fma and f16c, avx512 implies avx2.
enum class Feature : uint8_t {
  none,  // the requirement of code that needs no feature
  fma,
  f16c,
  sse2,    // vectors of 16 bytes; part of every x86_64
  avx2,    // vectors of 32 bytes
  avx512,  // vectors of 64 bytes: AVX-512 F, CD, BW, DQ and VL
};

inline constexpr std::array kFeatures{Feature::fma, Feature::f16c, Feature::sse2, Feature::avx2,
                                      Feature::avx512};
// Features that determine the vector width that kernels are made for, narrowest first.
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

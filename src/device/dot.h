#pragma once

#include <array>

#include "base/dtype.h"
#include "device/device.h"

namespace aoe {

// An instruction (or two) that multiplies vectors of both sides of a product and adds to a vector
// of sums. Tiles, packing, defaults and the search space read the row of kDots for their types, so
// that a new instruction is a new row. One with a depth above 1 also needs panels that are
// interleaved by that depth, which packing does not implement.
struct Dot {
  const char* name = "fma";
  DType left = DType::f32, right = DType::f32, sum = DType::f32;
  int depth = 1;      // products that one instruction adds to each sum; contiguous in memory
  bool fused = true;  // one rounding for multiplication and addition
  Feature needs = Feature::fma;

  // Sums in a vector register.
  int lanes(int vector_bytes) const { return std::max(1, vector_bytes / info(sum).bytes); }
};

// In order of preference.
inline constexpr std::array kDots{
    Dot{"fma", DType::f32, DType::f32, DType::f32, 1, true, Feature::fma},
    Dot{"fma", DType::f64, DType::f64, DType::f64, 1, true, Feature::fma},
    Dot{"mul+add", DType::f32, DType::f32, DType::f32, 1, false, Feature::none},
    Dot{"mul+add", DType::f64, DType::f64, DType::f64, 1, false, Feature::none},
    Dot{"mul+add", DType::i32, DType::i32, DType::i32, 1, false, Feature::none},
    Dot{"mul+add", DType::i64, DType::i64, DType::i64, 1, false, Feature::none},
};

// The preferred Dot of the device for products of a type; null if there is none.
inline const Dot* dot_of(DType dtype, const Device& device) {
  for (const Dot& dot : kDots) {
    if (dot.left == dtype && dot.right == dtype && device.has(dot.needs)) return &dot;
  }
  return nullptr;
}

}  // namespace aoe

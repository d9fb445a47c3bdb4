#pragma once

#include <array>

#include "base/dtype.h"
#include "device/device.h"

namespace aoe {

// How products are summed in registers: an instruction that multiplies vectors of both sides and
// adds to a vector of sums. What multiplies matrices (tiles, packing, defaults, the search space)
// reads the row of its types, so that another instruction is another row. One that takes several
// steps of depth at once also wants its panels interleaved by as many, which packing does not do.
struct Dot {
  const char* name = "fma";
  DType left = DType::f32, right = DType::f32, sum = DType::f32;
  int depth = 1;      // products that one instruction adds to a sum: they lie side by side
  bool fused = true;  // rounded once
  Feature needs = Feature::fma;

  // Sums in a vector register.
  int lanes(int vector_bytes) const { return std::max(1, vector_bytes / info(sum).bytes); }
};

// The better ones first.
inline constexpr std::array kDots{
    Dot{"fma", DType::f32, DType::f32, DType::f32, 1, true, Feature::fma},
    Dot{"fma", DType::f64, DType::f64, DType::f64, 1, true, Feature::fma},
    Dot{"mul+add", DType::f32, DType::f32, DType::f32, 1, false, Feature::none},
    Dot{"mul+add", DType::f64, DType::f64, DType::f64, 1, false, Feature::none},
    Dot{"mul+add", DType::i32, DType::i32, DType::i32, 1, false, Feature::none},
    Dot{"mul+add", DType::i64, DType::i64, DType::i64, 1, false, Feature::none},
};

// The device's best one for products of a type; null if there is none.
inline const Dot* dot_of(DType dtype, const Device& device) {
  for (const Dot& dot : kDots) {
    if (dot.left == dtype && dot.right == dtype && device.has(dot.needs)) return &dot;
  }
  return nullptr;
}

}  // namespace aoe

#include "op/onnx_types.h"

#include <algorithm>
#include <array>
#include <optional>

namespace aoe {

namespace {

constexpr std::array<std::optional<DType>, 27> codes() {
  using enum DType;
  constexpr std::nullopt_t none = std::nullopt;
  return {none,       f32,    u8,         i8,  u16, i16,    i32,    i64,  string,
          boolean,    f16,    f64,        u32, u64, none,   none,   bf16, f8e4m3fn,
          f8e4m3fnuz, f8e5m2, f8e5m2fnuz, u4,  i4,  f4e2m1, f8e8m0, u2,   i2};
}
constexpr auto kByCode = codes();

}  // namespace

DType dtype_from_onnx(int64_t code) {
  const bool known = code >= 0 && code < static_cast<int64_t>(kByCode.size()) &&
                     kByCode[static_cast<size_t>(code)].has_value();
  require(known, "element type {} is not supported", code);
  return *kByCode[static_cast<size_t>(code)];
}

int onnx_code(DType dtype) {
  return static_cast<int>(std::find(kByCode.begin(), kByCode.end(), dtype) - kByCode.begin());
}

int bits_of(DType dtype) {
  switch (dtype) {
    case DType::i4:
    case DType::u4:
    case DType::f4e2m1: return 4;
    case DType::i2:
    case DType::u2: return 2;
    default: return 8 * info(dtype).bytes;
  }
}

}  // namespace aoe

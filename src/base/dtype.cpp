#include "base/dtype.h"

#include <iterator>

namespace aoe {

constinit const DTypeInfo kDTypeInfos[] = {
    DTypeInfo{"float32", "f32", 4, DKind::floating},
    DTypeInfo{"float64", "f64", 8, DKind::floating},
    DTypeInfo{"float16", "f16", 2, DKind::floating},
    DTypeInfo{"bfloat16", "bf16", 2, DKind::floating},
    DTypeInfo{"int8", "i8", 1, DKind::signed_int},
    DTypeInfo{"int16", "i16", 2, DKind::signed_int},
    DTypeInfo{"int32", "i32", 4, DKind::signed_int},
    DTypeInfo{"int64", "i64", 8, DKind::signed_int},
    DTypeInfo{"uint8", "u8", 1, DKind::unsigned_int},
    DTypeInfo{"uint16", "u16", 2, DKind::unsigned_int},
    DTypeInfo{"uint32", "u32", 4, DKind::unsigned_int},
    DTypeInfo{"uint64", "u64", 8, DKind::unsigned_int},
    DTypeInfo{"bool", "bool", 1, DKind::boolean},
    DTypeInfo{"string", "string", sizeof(std::string), DKind::string},
    DTypeInfo{"int4", "i4", 1, DKind::signed_int},
    DTypeInfo{"uint4", "u4", 1, DKind::unsigned_int},
    DTypeInfo{"int2", "i2", 1, DKind::signed_int},
    DTypeInfo{"uint2", "u2", 1, DKind::unsigned_int},
    DTypeInfo{"float8_e4m3fn", "f8e4m3fn", 1, DKind::floating},
    DTypeInfo{"float8_e4m3fnuz", "f8e4m3fnuz", 1, DKind::floating},
    DTypeInfo{"float8_e5m2", "f8e5m2", 1, DKind::floating},
    DTypeInfo{"float8_e5m2fnuz", "f8e5m2fnuz", 1, DKind::floating},
    DTypeInfo{"float8_e8m0fnu", "f8e8m0", 1, DKind::floating},
    DTypeInfo{"float4_e2m1fn", "f4e2m1", 1, DKind::floating},
};
static_assert(std::size(kDTypeInfos) == static_cast<size_t>(DType::f4e2m1) + 1);

std::optional<DType> dtype_named(std::string_view name) {
  for (size_t i = 0; i < std::size(kDTypeInfos); ++i) {
    if (kDTypeInfos[i].name == name || kDTypeInfos[i].brief == name) return static_cast<DType>(i);
  }
  return std::nullopt;
}

}  // namespace aoe

#pragma once

#include <cassert>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>

#include "base/error.h"
#include "base/smallfloat.h"
#include "base/smallint.h"

namespace aoe {

// The element types of tensors. Types of fewer than eight bits take one byte an element in memory.
enum class DType : uint8_t {
  f32,
  f64,
  f16,
  bf16,
  i8,
  i16,
  i32,
  i64,
  u8,
  u16,
  u32,
  u64,
  boolean,
  string,
  i4,
  u4,
  i2,
  u2,
  f8e4m3fn,
  f8e4m3fnuz,
  f8e5m2,
  f8e5m2fnuz,
  f8e8m0,
  f4e2m1,
};

enum class DKind : uint8_t { floating, signed_int, unsigned_int, boolean, string };

struct DTypeInfo {
  std::string_view name;   // NumPy's name, shown to users
  std::string_view brief;  // in workload texts
  int bytes;               // per element, in memory
  DKind kind;
};

extern const DTypeInfo kDTypeInfos[];  // in the order of DType

// Inline: kernels of microseconds ask for the sizes of their operands in every call.
inline const DTypeInfo& info(DType type) {
  assert(type <= DType::f4e2m1);
  return kDTypeInfos[static_cast<size_t>(type)];
}

// Finds a type by its `name` or its `brief`.
std::optional<DType> dtype_named(std::string_view name);

inline std::string_view name(DType type) { return info(type).name; }
inline bool is_float(DType type) { return info(type).kind == DKind::floating; }
inline bool is_signed_int(DType type) { return info(type).kind == DKind::signed_int; }
inline bool is_unsigned_int(DType type) { return info(type).kind == DKind::unsigned_int; }
inline bool is_int(DType type) { return is_signed_int(type) || is_unsigned_int(type); }
inline bool is_numeric(DType type) { return is_float(type) || is_int(type); }

template <typename T>
struct Tag {
  using type = T;
};

// Calls `fn(Tag<T>{})` with the C++ type T of elements of `type`. Fails for strings.
template <typename Fn>
decltype(auto) dispatch(DType type, Fn&& fn) {
  switch (type) {
    case DType::f32: return fn(Tag<float>{});
    case DType::f64: return fn(Tag<double>{});
    case DType::f16: return fn(Tag<Half>{});
    case DType::bf16: return fn(Tag<BFloat16>{});
    case DType::i8: return fn(Tag<int8_t>{});
    case DType::i16: return fn(Tag<int16_t>{});
    case DType::i32: return fn(Tag<int32_t>{});
    case DType::i64: return fn(Tag<int64_t>{});
    case DType::u8: return fn(Tag<uint8_t>{});
    case DType::u16: return fn(Tag<uint16_t>{});
    case DType::u32: return fn(Tag<uint32_t>{});
    case DType::u64: return fn(Tag<uint64_t>{});
    case DType::boolean: return fn(Tag<bool>{});
    case DType::i4: return fn(Tag<Int4>{});
    case DType::u4: return fn(Tag<UInt4>{});
    case DType::i2: return fn(Tag<Int2>{});
    case DType::u2: return fn(Tag<UInt2>{});
    case DType::f8e4m3fn: return fn(Tag<Float8E4M3FN>{});
    case DType::f8e4m3fnuz: return fn(Tag<Float8E4M3FNUZ>{});
    case DType::f8e5m2: return fn(Tag<Float8E5M2>{});
    case DType::f8e5m2fnuz: return fn(Tag<Float8E5M2FNUZ>{});
    case DType::f8e8m0: return fn(Tag<Float8E8M0>{});
    case DType::f4e2m1: return fn(Tag<Float4E2M1>{});
    case DType::string: break;
  }
  fail("strings cannot take part in arithmetic");
}

template <typename T>
constexpr DType dtype_of() {
  if constexpr (std::is_same_v<T, float>) return DType::f32;
  else if constexpr (std::is_same_v<T, double>) return DType::f64;
  else if constexpr (std::is_same_v<T, Half>) return DType::f16;
  else if constexpr (std::is_same_v<T, BFloat16>) return DType::bf16;
  else if constexpr (std::is_same_v<T, int8_t>) return DType::i8;
  else if constexpr (std::is_same_v<T, int16_t>) return DType::i16;
  else if constexpr (std::is_same_v<T, int32_t>) return DType::i32;
  else if constexpr (std::is_same_v<T, int64_t>) return DType::i64;
  else if constexpr (std::is_same_v<T, uint8_t>) return DType::u8;
  else if constexpr (std::is_same_v<T, uint16_t>) return DType::u16;
  else if constexpr (std::is_same_v<T, uint32_t>) return DType::u32;
  else if constexpr (std::is_same_v<T, uint64_t>) return DType::u64;
  else if constexpr (std::is_same_v<T, bool>) return DType::boolean;
  else static_assert(!sizeof(T), "no element type is stored as this");
}

}  // namespace aoe

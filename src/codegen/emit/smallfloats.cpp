#include "codegen/emit/smallfloats.h"

#include <llvm/IR/Constants.h>

#include <cmath>

namespace aoe {
namespace {

using Value = llvm::Value*;

constexpr int64_t kInfinity = 0x7f800000;
constexpr int64_t kQuietNaN = 0x7fc00000;
constexpr int64_t kMagnitude = 0x7fffffff;
constexpr int64_t kLowestPower = 0x00400000;  // 2^-127, a denormal

FloatFormat format_of(DType dtype) {
  return dispatch(dtype, [](auto tag) -> FloatFormat {
    using Stored = typename decltype(tag)::type;
    if constexpr (requires { Stored::format; }) return Stored::format;
    else fail("not a small float");
  });
}

Value to_half(const VectorIr& ir, Value floats) {
  Value half = ir.b.CreateFPTrunc(floats, ir.retyped(floats, ir.b.getHalfTy()));
  return ir.b.CreateBitCast(half, ir.retyped(floats, ir.b.getInt16Ty()));
}

Value from_half(const VectorIr& ir, Value patterns) {
  Value half = ir.b.CreateBitCast(patterns, ir.retyped(patterns, ir.b.getHalfTy()));
  return ir.b.CreateFPExt(half, ir.retyped(patterns, ir.b.getFloatTy()));
}

// Encodes f8e8m0: powers of two from 2^-127 on, without sign, whose pattern is that of f32's
// exponent; 255 is NaN. `bits` are those of a float, or of a double, since the conversion to float
// would flush the lowest powers to zero.
Value encoded_power(const VectorIr& ir, Value bits) {
  llvm::IRBuilder<>& b = ir.b;
  const bool is_double = bits->getType()->getScalarSizeInBits() == 64;
  const int mantissa = is_double ? 52 : 23;
  const int64_t half = int64_t{1} << (mantissa - 1);
  const int64_t half_of_lowest = is_double ? int64_t{1023 - 128} << 52 : 0x200000;
  // The lowest power, 2^-127, is half of the next one: rounding up starts at 3/4 of 2^-126.
  const int64_t rounds_up = is_double ? (int64_t{1023 - 127} << 52) + half : 0x600000;
  const auto whole = [&](int64_t value) { return ir.integer(bits, value); };
  // NaN: half of the lowest power and below, zero, and negative numbers (negative as integers).
  Value none = b.CreateICmpSLE(bits, whole(half_of_lowest));
  Value lowest = b.CreateICmpULT(bits, whole(rounds_up));
  Value nearest = b.CreateLShr(b.CreateAdd(bits, whole(half)), mantissa);
  if (is_double) nearest = b.CreateSub(nearest, whole(1023 - 127));
  nearest = b.CreateBinaryIntrinsic(llvm::Intrinsic::umin, nearest, whole(255));
  Value power = b.CreateSelect(none, whole(255), b.CreateSelect(lowest, whole(0), nearest));
  return b.CreateTrunc(power, ir.retyped(bits, b.getInt32Ty()));
}

// Rounds to the format and returns the pattern, zero-extended to 32 bits.
Value encoded_bits(const VectorIr& ir, const FloatFormat& format, Value floats) {
  llvm::IRBuilder<>& b = ir.b;
  Value bits = ir.bits_of(floats);
  if (format.mantissa_bits == 0) return encoded_power(ir, bits);
  const auto whole = [&](int64_t value) { return ir.integer(bits, value); };
  Value magnitude = b.CreateAnd(bits, whole(kMagnitude));
  Value sign = b.CreateAnd(b.CreateLShr(bits, static_cast<uint64_t>(32 - format.bits)),
                           whole(format.sign_bit()));
  // Rounds to nearest even; a carry out of the mantissa increments the exponent.
  const int dropped = 23 - format.mantissa_bits;
  Value last = b.CreateAnd(b.CreateLShr(magnitude, static_cast<uint64_t>(dropped)), whole(1));
  Value up = b.CreateAdd(last, whole((int64_t{1} << (dropped - 1)) - 1));
  Value pattern =
      b.CreateSub(b.CreateLShr(b.CreateAdd(magnitude, up), static_cast<uint64_t>(dropped)),
                  whole(int64_t{127 - format.bias} << format.mantissa_bits));
  if (format.bias != 127) {
    // Below the normal range: adding `base`, whose last bit is the smallest unit, rounds to units.
    const double base = std::ldexp(1.0, 24 - format.bias - format.mantissa_bits);
    Value sum = b.CreateFAdd(ir.floats_of(magnitude), ir.number(floats, base));
    Value units = b.CreateSub(ir.bits_of(sum), ir.bits_of(ir.number(floats, base)));
    Value small = b.CreateICmpULT(magnitude, whole(int64_t{128 - format.bias} << 23));
    pattern = b.CreateSelect(small, units, pattern);
  }
  int beyond = format.largest();
  if (format.has_infinity) beyond = format.infinity();
  else if (format.has_nan) beyond = format.nan_is_minus_zero ? 0 : format.nan();
  Value overflows = b.CreateICmpSGT(pattern, whole(format.largest()));
  Value finite = b.CreateSelect(overflows, whole(beyond), pattern);
  Value nan = b.CreateICmpUGT(magnitude, whole(kInfinity));
  if (format.nan_is_minus_zero) {
    // Zero has no sign: the pattern of -0 is NaN's.
    Value is_nan = b.CreateOr(nan, overflows);
    Value is_zero = b.CreateICmpEQ(pattern, whole(0));
    Value signed_value = b.CreateSelect(is_zero, whole(0), b.CreateOr(pattern, sign));
    return b.CreateSelect(is_nan, whole(format.nan()), signed_value);
  }
  if (!format.has_nan) return b.CreateSelect(nan, whole(0), b.CreateOr(finite, sign));
  return b.CreateOr(b.CreateSelect(nan, whole(format.nan()), finite), sign);
}

Value decoded_bits(const VectorIr& ir, const FloatFormat& format, Value bits) {
  llvm::IRBuilder<>& b = ir.b;
  const auto whole = [&](int64_t value) { return ir.integer(bits, value); };
  if (format.mantissa_bits == 0) {
    Value power = b.CreateShl(bits, 23);
    power = b.CreateSelect(b.CreateICmpEQ(bits, whole(0)), whole(kLowestPower), power);
    power = b.CreateSelect(b.CreateICmpEQ(bits, whole(255)), whole(kQuietNaN), power);
    return ir.floats_of(power);
  }
  if (format.bias == 127) return ir.floats_of(b.CreateShl(bits, 16));
  Value magnitude = b.CreateAnd(bits, whole(format.magnitude_mask()));
  Value sign = b.CreateShl(b.CreateAnd(bits, whole(format.sign_bit())),
                           static_cast<uint64_t>(32 - format.bits));
  // Kernels run with denormals flushed, so no intermediate result may be denormal in f32. Below the
  // normal range the pattern counts units: it becomes the mantissa of a number with the lowest
  // exponent, whose implicit leading one is then subtracted.
  Value moved = b.CreateShl(magnitude, static_cast<uint64_t>(23 - format.mantissa_bits));
  Value normal = b.CreateAdd(moved, whole(int64_t{127 - format.bias} << 23));
  const int64_t lowest = int64_t{128 - format.bias} << 23;
  Value above = ir.floats_of(b.CreateAdd(moved, whole(lowest)));
  Value units = b.CreateFSub(above, ir.number(above, std::ldexp(1.0, 1 - format.bias)));
  Value is_small = b.CreateICmpULT(magnitude, whole(int64_t{1} << format.mantissa_bits));
  Value result = b.CreateOr(b.CreateSelect(is_small, ir.bits_of(units), normal), sign);
  if (format.has_infinity) {
    Value nan = b.CreateOr(sign, whole(kQuietNaN));
    result = b.CreateSelect(b.CreateICmpEQ(magnitude, whole(format.infinity())),
                            b.CreateOr(sign, whole(kInfinity)), result);
    result = b.CreateSelect(b.CreateICmpUGT(magnitude, whole(format.infinity())), nan, result);
  } else if (format.nan_is_minus_zero) {
    result = b.CreateSelect(b.CreateICmpEQ(bits, whole(format.nan())), whole(kQuietNaN), result);
  } else if (format.has_nan) {
    result = b.CreateSelect(b.CreateICmpEQ(magnitude, whole(format.nan())),
                            b.CreateOr(sign, whole(kQuietNaN)), result);
  }
  return ir.floats_of(result);
}

// Rounds doubles to f32 such that `rounded` then gives the result of a single rounding: inexact
// results get an odd last bit (round to odd), so that they are never taken for ties.
Value rounded_to_odd(const VectorIr& ir, Value doubles) {
  llvm::IRBuilder<>& b = ir.b;
  Value nearest = b.CreateFPTrunc(doubles, ir.retyped(doubles, b.getFloatTy()));
  Value back = b.CreateFPExt(nearest, doubles->getType());
  Value bits = ir.bits_of(nearest);
  // Truncates first: where rounding went away from zero, the pattern before.
  Value beyond = b.CreateFCmpOGT(ir.absolute(back), ir.absolute(doubles));
  Value truncated = b.CreateSub(bits, b.CreateZExt(beyond, bits->getType()));
  Value inexact = b.CreateFCmpONE(back, doubles);
  return ir.floats_of(b.CreateOr(truncated, b.CreateZExt(inexact, bits->getType())));
}

bool uses_half(const VectorIr& ir, DType dtype) { return dtype == DType::f16 && ir.has_half(); }

}  // namespace

bool is_small_float(DType dtype) {
  return is_float(dtype) && dtype != DType::f32 && dtype != DType::f64;
}

llvm::Value* rounded(const VectorIr& ir, DType dtype, Value floats) {
  if (uses_half(ir, dtype)) return from_half(ir, to_half(ir, floats));
  const FloatFormat format = format_of(dtype);
  Value patterns = encoded_bits(ir, format, floats);
  return decoded_bits(ir, format, patterns);
}

llvm::Value* rounded_from_double(const VectorIr& ir, DType dtype, Value doubles) {
  const FloatFormat format = format_of(dtype);
  if (format.mantissa_bits > 0) return rounded(ir, dtype, rounded_to_odd(ir, doubles));
  Value bits = ir.b.CreateBitCast(doubles, ir.retyped(doubles, ir.b.getInt64Ty()));
  return decoded_bits(ir, format, encoded_power(ir, bits));
}

llvm::Value* widened_to_double(const VectorIr& ir, DType dtype, Value floats) {
  llvm::IRBuilder<>& b = ir.b;
  llvm::Type* const doubles = ir.retyped(floats, b.getDoubleTy());
  Value value = b.CreateFPExt(floats, doubles);
  if (!is_small_float(dtype) || format_of(dtype).mantissa_bits > 0) return value;
  Value bits = ir.bits_of(floats);
  Value lowest = b.CreateICmpEQ(bits, ir.integer(bits, kLowestPower));
  return b.CreateSelect(lowest, llvm::ConstantFP::get(doubles, 0x1p-127), value);
}

llvm::Value* encoded(const VectorIr& ir, DType dtype, Value floats) {
  if (uses_half(ir, dtype)) return to_half(ir, floats);
  const FloatFormat format = format_of(dtype);
  llvm::Type* const stored = ir.b.getIntNTy(static_cast<unsigned>(info(dtype).bytes) * 8);
  return ir.b.CreateTrunc(encoded_bits(ir, format, floats), ir.retyped(floats, stored));
}

llvm::Value* decoded(const VectorIr& ir, DType dtype, Value patterns) {
  if (uses_half(ir, dtype)) return from_half(ir, patterns);
  Value bits = ir.b.CreateZExt(patterns, ir.retyped(patterns, ir.b.getInt32Ty()));
  return decoded_bits(ir, format_of(dtype), bits);
}

}  // namespace aoe

#include <llvm/IR/PatternMatch.h>

#include <algorithm>
#include <limits>

#include "codegen/emit/elements.h"
#include "codegen/emit/smallfloats.h"

namespace aoe {
namespace {

namespace Intrinsic = llvm::Intrinsic;

// Known bounds of a value; NaN is always possible.
struct Bounds {
  double low = -std::numeric_limits<double>::infinity();
  double high = std::numeric_limits<double>::infinity();
};

// Recognizes clamps, which precede most casts to integers: a select between two values by their
// comparison.
Bounds bounds_of(llvm::Value* value) {
  using namespace llvm::PatternMatch;
  llvm::CmpInst::Predicate predicate;
  llvm::Value* chosen = nullptr;
  llvm::Value* other = nullptr;
  if (!match(value, m_Select(m_FCmp(predicate, m_Value(chosen), m_Value(other)), m_Deferred(chosen),
                             m_Deferred(other)))) {
    return {};
  }
  const bool smaller = predicate == llvm::CmpInst::FCMP_OLT || predicate == llvm::CmpInst::FCMP_ULT;
  const bool larger = predicate == llvm::CmpInst::FCMP_OGT || predicate == llvm::CmpInst::FCMP_UGT;
  if (!smaller && !larger) return {};
  const llvm::APFloat* number = known_number(chosen);
  llvm::Value* const clamped = number == nullptr ? chosen : other;
  if (number == nullptr) number = known_number(other);
  if (number == nullptr) return {};
  const Bounds bounds = bounds_of(clamped);
  const double bound = number->convertToDouble();
  if (smaller) return {std::min(bounds.low, bound), std::min(bounds.high, bound)};
  return {std::max(bounds.low, bound), std::max(bounds.high, bound)};
}

}  // namespace

llvm::Value* Elements::cast(DType from, DType to, Value a) {
  llvm::IRBuilder<>& b = ir_.b;
  if (from == to) return a;
  llvm::Type* const held = type(to, lanes_of(a));
  if (to == DType::boolean) {
    // f8e8m0 has no zero, but its lowest power is a denormal in f32 and would compare equal to it.
    if (from == DType::f8e8m0) return llvm::ConstantInt::getTrue(held);
    if (is_float(from)) return b.CreateFCmpUNE(a, ir_.number(a, 0));  // NaN is true
    return b.CreateICmpNE(a, ir_.integer(a, 0));
  }
  if (is_float(from)) {
    if (!is_float(to)) return narrowed(to, float_to_integer(to, a));
    if (to == DType::f64) return widened_to_double(ir_, from, a);
    if (from != DType::f64) return narrowed(to, a);
    return is_small_float(to) ? rounded_from_double(ir_, to, a) : b.CreateFPTrunc(a, held);
  }
  const bool is_signed = is_signed_int(from);
  const auto to_float = [&](llvm::Type* wanted) {
    return is_signed ? b.CreateSIToFP(a, wanted) : b.CreateUIToFP(a, wanted);
  };
  if (is_small_float(to)) {
    if (info(from).bytes <= 2) return rounded(ir_, to, to_float(held));
    // f32 cannot represent all integers of 4 and 8 bytes: through f32 they would be rounded twice.
    Value doubles = to_float(ir_.retyped(a, b.getDoubleTy()));
    return rounded_from_double(ir_, to, doubles);
  }
  if (is_float(to)) return to_float(held);
  return narrowed(to, b.CreateIntCast(a, held, is_signed));
}

// Truncates towards zero to 64 bits, saturating, with NaN as the lowest value (negative numbers
// wrap in u64); narrower types keep the low bits of that.
llvm::Value* Elements::float_to_integer(DType to, Value a) {
  llvm::IRBuilder<>& b = ir_.b;
  llvm::Type* const wide = ir_.retyped(a, b.getInt64Ty());
  const auto saturated = [&](Intrinsic::ID id) {
    return b.CreateIntrinsic(id, {wide, a->getType()}, {a});
  };
  if (to == DType::u64) {
    Value positive = b.CreateFCmpOGT(a, ir_.number(a, 0));
    return b.CreateSelect(positive, saturated(Intrinsic::fptoui_sat),
                          saturated(Intrinsic::fptosi_sat));
  }
  if (to == DType::i64) {
    Value lowest = llvm::ConstantInt::get(wide, uint64_t{1} << 63);
    return b.CreateSelect(ir_.is_nan(a), lowest, saturated(Intrinsic::fptosi_sat));
  }
  llvm::Type* const held = type(to, lanes_of(a));
  if (a->getType()->getScalarType()->isDoubleTy()) {
    return b.CreateTrunc(saturated(Intrinsic::fptosi_sat), held);  // NaN's low bits are 0 as well
  }
  const Bounds bounds = bounds_of(a);
  if (bounds.low >= -0x1p31 && bounds.high < 0x1p31) {
    Value number = b.CreateSelect(ir_.is_nan(a), ir_.number(a, 0), a);
    return b.CreateTrunc(b.CreateFPToSI(number, ir_.retyped(a, b.getInt32Ty())), held);
  }
  // The same in 32-bit arithmetic, which all instruction sets have for vectors. Subtracting a
  // multiple of 2^32 from an f32 is exact; below 2^31 the multiple is zero.
  Value turns =
      b.CreateUnaryIntrinsic(Intrinsic::roundeven, b.CreateFMul(a, ir_.number(a, 0x1p-32)));
  Value low = b.CreateFSub(a, b.CreateFMul(turns, ir_.number(a, 0x1p32)));
  low = b.CreateSelect(b.CreateFCmpOEQ(low, ir_.number(a, 0x1p31)), ir_.number(a, -0x1p31), low);
  // Also false for NaN.
  Value in_reach = b.CreateFCmpOGT(a, ir_.number(a, -0x1p63));
  low = b.CreateSelect(in_reach, low, ir_.number(a, 0));
  Value high = b.CreateFCmpOGE(a, ir_.number(a, 0x1p63));
  low = b.CreateSelect(high, ir_.number(a, -1), low);
  return b.CreateTrunc(b.CreateFPToSI(low, ir_.retyped(a, b.getInt32Ty())), held);
}

}  // namespace aoe

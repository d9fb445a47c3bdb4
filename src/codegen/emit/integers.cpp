#include "codegen/emit/elements.h"

// Operations on integers and bools. Nothing traps and nothing is undefined: divisors and shift
// counts are replaced by safe ones first, and results are corrected afterwards.

namespace aoe {

namespace Intrinsic = llvm::Intrinsic;

llvm::Value* Elements::integer_unary(ExprOp op, bool is_signed, Value a) {
  llvm::IRBuilder<>& b = ir_.b;
  switch (op) {
    case ExprOp::neg: return b.CreateNeg(a);
    case ExprOp::abs:
      // The lowest value, which has no positive counterpart, stays.
      return is_signed ? b.CreateBinaryIntrinsic(Intrinsic::abs, a, b.getFalse()) : a;
    case ExprOp::floor:
    case ExprOp::ceil:
    case ExprOp::round: return a;
    case ExprOp::is_nan:
    case ExprOp::is_inf: return llvm::ConstantInt::getFalse(with_lanes(b.getInt1Ty(), lanes_of(a)));
    case ExprOp::logical_not: return b.CreateICmpEQ(a, ir_.integer(a, 0));
    case ExprOp::bit_not: return b.CreateNot(a);
    default: return nullptr;
  }
}

llvm::Value* Elements::integer_binary(ExprOp op, bool is_signed, Value a, Value c) {
  llvm::IRBuilder<>& b = ir_.b;
  const auto width = static_cast<int64_t>(a->getType()->getScalarSizeInBits());
  switch (op) {
    case ExprOp::add: return b.CreateAdd(a, c);
    case ExprOp::sub: return b.CreateSub(a, c);
    case ExprOp::mul: return b.CreateMul(a, c);
    case ExprOp::div:
    case ExprOp::mod:
    case ExprOp::rem: return integer_division(op, is_signed, a, c);
    case ExprOp::pow: return integer_power(is_signed, a, c);
    case ExprOp::min:
      return b.CreateBinaryIntrinsic(is_signed ? Intrinsic::smin : Intrinsic::umin, a, c);
    case ExprOp::max:
      return b.CreateBinaryIntrinsic(is_signed ? Intrinsic::smax : Intrinsic::umax, a, c);
    case ExprOp::eq: return b.CreateICmpEQ(a, c);
    case ExprOp::lt: return is_signed ? b.CreateICmpSLT(a, c) : b.CreateICmpULT(a, c);
    case ExprOp::le: return is_signed ? b.CreateICmpSLE(a, c) : b.CreateICmpULE(a, c);
    case ExprOp::bit_and: return b.CreateAnd(a, c);
    case ExprOp::bit_or: return b.CreateOr(a, c);
    case ExprOp::bit_xor: return b.CreateXor(a, c);
    case ExprOp::shl:
    case ExprOp::shr: {
      // A negative shift count is a huge unsigned one: all bits are shifted out.
      Value far = b.CreateICmpUGE(c, ir_.integer(a, width));
      Value largest = ir_.integer(a, width - 1);
      if (op == ExprOp::shr && is_signed) return b.CreateAShr(a, b.CreateSelect(far, largest, c));
      Value safe = b.CreateAnd(c, largest);
      Value shifted = op == ExprOp::shl ? b.CreateShl(a, safe) : b.CreateLShr(a, safe);
      return b.CreateSelect(far, ir_.integer(a, 0), shifted);
    }
    default: return nullptr;
  }
}

llvm::Value* Elements::integer_division(ExprOp op, bool is_signed, Value a, Value c) {
  llvm::IRBuilder<>& b = ir_.b;
  Value zero = ir_.integer(a, 0);
  Value one = ir_.integer(a, 1);
  Value by_zero = b.CreateICmpEQ(c, zero);
  if (!is_signed) {
    Value safe = b.CreateSelect(by_zero, one, c);
    Value result = op == ExprOp::div ? b.CreateUDiv(a, safe) : b.CreateURem(a, safe);
    return b.CreateSelect(by_zero, zero, result);
  }
  // The lowest value divided by -1 does not fit: it wraps, as a negation does.
  Value by_minus_one = b.CreateICmpEQ(c, ir_.integer(a, -1));
  Value safe = b.CreateSelect(b.CreateOr(by_zero, by_minus_one), one, c);
  if (op == ExprOp::div) {
    Value quotient = b.CreateSelect(by_minus_one, b.CreateNeg(a), b.CreateSDiv(a, safe));
    return b.CreateSelect(by_zero, zero, quotient);
  }
  Value rest = b.CreateSRem(a, safe);  // 0 where the divisor was made safe
  if (op == ExprOp::rem) return rest;
  Value signs_differ = b.CreateICmpSLT(b.CreateXor(rest, c), zero);
  Value moves = b.CreateAnd(b.CreateICmpNE(rest, zero), signs_differ);
  return b.CreateSelect(moves, b.CreateAdd(rest, c), rest);
}

llvm::Value* Elements::integer_power(bool is_signed, Value a, Value c) {
  llvm::IRBuilder<>& b = ir_.b;
  llvm::Type* const wide = ir_.retyped(a, b.getInt64Ty());
  Value result =
      ir_.call(is_signed ? "aoe_pow_i64" : "aoe_pow_u64",
               {b.CreateIntCast(a, wide, is_signed), b.CreateIntCast(c, wide, is_signed)});
  return b.CreateTrunc(result, a->getType());
}

llvm::Value* Elements::bool_unary(ExprOp op, Value a) {
  if (op == ExprOp::logical_not) return ir_.b.CreateNot(a);
  if (op == ExprOp::is_nan || op == ExprOp::is_inf) return integer_unary(op, false, a);
  return nullptr;
}

llvm::Value* Elements::bool_binary(ExprOp op, Value a, Value c) {
  llvm::IRBuilder<>& b = ir_.b;
  switch (op) {
    case ExprOp::bit_and:
    case ExprOp::mul:
    case ExprOp::min: return b.CreateAnd(a, c);
    case ExprOp::bit_or:
    case ExprOp::add:
    case ExprOp::max: return b.CreateOr(a, c);
    case ExprOp::bit_xor:
    case ExprOp::sub: return b.CreateXor(a, c);
    case ExprOp::eq: return b.CreateNot(b.CreateXor(a, c));
    case ExprOp::lt: return b.CreateAnd(b.CreateNot(a), c);
    case ExprOp::le: return b.CreateOr(b.CreateNot(a), c);
    default: return nullptr;
  }
}

}  // namespace aoe

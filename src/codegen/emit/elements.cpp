#include "codegen/emit/elements.h"

#include <llvm/IR/Constants.h>

#include "codegen/emit/math_functions.h"
#include "codegen/emit/smallfloats.h"

namespace aoe {

namespace Intrinsic = llvm::Intrinsic;

llvm::Type* Elements::type(DType dtype, int lanes) {
  llvm::IRBuilder<>& b = ir_.b;
  llvm::Type* element = nullptr;
  if (dtype == DType::boolean) element = b.getInt1Ty();
  else if (dtype == DType::f64) element = b.getDoubleTy();
  else if (is_float(dtype)) element = b.getFloatTy();
  else if (is_int(dtype)) element = b.getIntNTy(static_cast<unsigned>(info(dtype).bytes) * 8);
  else fail("{} has no register type", name(dtype));
  return with_lanes(element, lanes);
}

llvm::Value* Elements::constant(const Expr& constant, int lanes) {
  llvm::Type* const held = type(constant.dtype(), lanes);
  // As in the reference, a constant of a small float type is not rounded.
  if (is_float(constant.dtype())) return llvm::ConstantFP::get(held, constant->number);
  const bool truth = constant.dtype() == DType::boolean;
  const int64_t whole = truth ? static_cast<int64_t>(constant->id != 0) : constant->id;
  Value value = llvm::ConstantInt::get(held, static_cast<uint64_t>(whole), true);
  return narrowed(constant.dtype(), value);
}

llvm::Value* Elements::splat(Value scalar, int lanes) {
  if (scalar == nullptr || lanes_of(scalar) == lanes) return scalar;
  return ir_.b.CreateVectorSplat(static_cast<unsigned>(lanes), scalar);
}

llvm::Value* Elements::applied(const Expr& expr, const std::vector<Value>& operands, bool wide) {
  const auto held = [&](DType dtype) { return wide ? widened(dtype) : dtype; };
  const DType dtype = held(expr->operands[0].dtype());
  if (expr->op == ExprOp::cast) return cast(dtype, held(expr.dtype()), operands[0]);
  if (expr->op == ExprOp::select) return select(operands[0], operands[1], operands[2]);
  if (operands.size() == 1) return unary(expr->op, dtype, operands[0]);
  return binary(expr->op, dtype, operands[0], operands[1]);
}

llvm::Value* Elements::unary(ExprOp op, DType operand_type, Value a) {
  Value result = nullptr;
  if (is_float(operand_type)) result = float_unary(op, a);
  else if (operand_type == DType::boolean) result = bool_unary(op, a);
  else result = integer_unary(op, is_signed_int(operand_type), a);
  return finished(op, operand_type, result);
}

llvm::Value* Elements::binary(ExprOp op, DType operand_type, Value a, Value b) {
  const int lanes = std::max(lanes_of(a), lanes_of(b));
  a = splat(a, lanes);
  b = splat(b, lanes);
  Value result = nullptr;
  if (is_float(operand_type)) result = float_binary(op, a, b);
  else if (operand_type == DType::boolean) result = bool_binary(op, a, b);
  else result = integer_binary(op, is_signed_int(operand_type), a, b);
  return finished(op, operand_type, result);
}

llvm::Value* Elements::finished(ExprOp op, DType operand_type, Value result) {
  if (result == nullptr) fail("'{}' has no meaning for {}", name(op), name(operand_type));
  return gives_bool(op) ? result : narrowed(operand_type, result);
}

llvm::Value* Elements::select(Value condition, Value a, Value b) {
  const int lanes = std::max({lanes_of(condition), lanes_of(a), lanes_of(b)});
  return ir_.b.CreateSelect(condition, splat(a, lanes), splat(b, lanes));
}

llvm::Value* Elements::narrowed(DType dtype, Value a) {
  llvm::IRBuilder<>& b = ir_.b;
  switch (dtype) {
    case DType::i4: return b.CreateAShr(b.CreateShl(a, 4), 4);
    case DType::i2: return b.CreateAShr(b.CreateShl(a, 6), 6);
    case DType::u4: return b.CreateAnd(a, 15);
    case DType::u2: return b.CreateAnd(a, 3);
    default: break;
  }
  return is_small_float(dtype) ? rounded(ir_, dtype, a) : a;
}

llvm::Value* Elements::float_unary(ExprOp op, Value a) {
  llvm::IRBuilder<>& b = ir_.b;
  switch (op) {
    case ExprOp::neg: return b.CreateFNeg(a);
    case ExprOp::abs: return ir_.absolute(a);
    case ExprOp::sqrt: return b.CreateUnaryIntrinsic(Intrinsic::sqrt, a);
    case ExprOp::floor: return b.CreateUnaryIntrinsic(Intrinsic::floor, a);
    case ExprOp::ceil: return b.CreateUnaryIntrinsic(Intrinsic::ceil, a);
    case ExprOp::round: return b.CreateUnaryIntrinsic(Intrinsic::roundeven, a);
    case ExprOp::is_nan: return ir_.is_nan(a);
    case ExprOp::is_inf:
      return b.CreateFCmpOEQ(ir_.absolute(a), llvm::ConstantFP::getInfinity(a->getType()));
    default: break;
  }
  if (!a->getType()->getScalarType()->isDoubleTy()) {
    switch (op) {
      case ExprOp::exp: return exponential(ir_, a);
      case ExprOp::log: return logarithm(ir_, a);
      case ExprOp::tanh: return hyperbolic_tangent(ir_, a);
      case ExprOp::erf: return error_function(ir_, a);
      default: break;
    }
  }
  const bool is_function = op >= ExprOp::exp && op <= ExprOp::erf;
  return is_function ? call(name(op), {a}) : nullptr;
}

llvm::Value* Elements::call(std::string_view name, const std::vector<Value>& arguments) {
  const bool is_double = arguments[0]->getType()->getScalarType()->isDoubleTy();
  return ir_.call(fmt::format("aoe_{}{}", name, is_double ? "" : "f"), arguments);
}

llvm::Value* Elements::float_binary(ExprOp op, Value a, Value c) {
  llvm::IRBuilder<>& b = ir_.b;
  switch (op) {
    case ExprOp::add: return b.CreateFAdd(a, c);
    case ExprOp::sub: return b.CreateFSub(a, c);
    case ExprOp::mul: return b.CreateFMul(a, c);
    case ExprOp::div: return b.CreateFDiv(a, c);
    case ExprOp::rem: return call("fmod", {a, c});
    case ExprOp::mod: {
      Value rest = call("fmod", {a, c});
      Value zero = ir_.number(a, 0);
      Value signs_differ = b.CreateXor(b.CreateFCmpOLT(rest, zero), b.CreateFCmpOLT(c, zero));
      Value moves = b.CreateAnd(b.CreateFCmpUNE(rest, zero), signs_differ);
      return b.CreateSelect(moves, b.CreateFAdd(rest, c), rest);
    }
    case ExprOp::pow: return float_power(a, c);
    case ExprOp::min:
    case ExprOp::max: return float_extreme(op, a, c);
    case ExprOp::eq: return b.CreateFCmpOEQ(a, c);
    case ExprOp::lt: return b.CreateFCmpOLT(a, c);
    case ExprOp::le: return b.CreateFCmpOLE(a, c);
    default: return nullptr;
  }
}

llvm::Value* Elements::float_extreme(ExprOp op, Value a, Value c) {
  llvm::IRBuilder<>& b = ir_.b;
  const bool is_min = op == ExprOp::min;
  // If `a` is a constant, the result is `c` if that is beyond it or NaN.
  if (known_number(a) != nullptr) {
    return b.CreateSelect(is_min ? b.CreateFCmpULT(c, a) : b.CreateFCmpUGT(c, a), c, a);
  }
  Value ordered = ir_.extreme(is_min, c, a);
  return known_number(c) != nullptr ? ordered : b.CreateSelect(ir_.is_nan(c), c, ordered);
}

llvm::Value* Elements::float_power(Value a, Value c) {
  llvm::IRBuilder<>& b = ir_.b;
  // Exponents that models commonly pass to Pow. The replacements are within an ulp of pow.
  if (const auto* known = known_number(c)) {
    if (known->isExactlyValue(1.0)) return a;
    if (known->isExactlyValue(2.0)) return b.CreateFMul(a, a);
    if (known->isExactlyValue(3.0)) return b.CreateFMul(b.CreateFMul(a, a), a);
    if (known->isExactlyValue(-1.0)) return b.CreateFDiv(ir_.number(a, 1), a);
    if (known->isExactlyValue(0.5)) {
      // Unlike the square root, the power of -0 is +0 and that of -infinity is +infinity.
      Value infinity = llvm::ConstantFP::getInfinity(a->getType());
      Value root = b.CreateUnaryIntrinsic(Intrinsic::sqrt, b.CreateFAdd(a, ir_.number(a, 0)));
      Value lowest = llvm::ConstantFP::getInfinity(a->getType(), true);
      return b.CreateSelect(b.CreateFCmpOEQ(a, lowest), infinity, root);
    }
  }
  return call("pow", {a, c});
}

}  // namespace aoe

#pragma once

#include <string>

#include "codegen/emit/vector_ir.h"
#include "expr/expr.h"

namespace aoe {

// The type that a reduction sums up in.
inline DType widened(DType dtype) {
  return is_float(dtype) && dtype != DType::f64 ? DType::f32 : dtype;
}

// Values of expressions in registers: `lanes` elements side by side, a scalar where lanes is 1.
// What an operation gives is what the reference gives (docs/numerics.md has the exceptions).
//
// An operand may be a scalar where the other is a vector: it is then the same in every lane.
// Operations that have no meaning for a type fail.
class Elements {
 public:
  Elements(llvm::IRBuilder<>& builder, const Device& device) : ir_(builder, device) {}

  // How an element lives in a register: bool as i1; integers as they are, those of fewer than eight
  // bits as i8 that hold a value of the type; f64 as double, all other floats as float.
  llvm::Type* type(DType dtype, int lanes);

  llvm::Value* constant(const Expr& constant, int lanes);
  // Null stays null.
  llvm::Value* splat(llvm::Value* scalar, int lanes);

  // What an expression's operation gives for the values of its operands. With `wide`, small floats
  // keep the digits of f32.
  llvm::Value* applied(const Expr& expr, const std::vector<llvm::Value*>& operands,
                       bool wide = false);

  // `operand_type` is the type of the operands; comparisons and is_... give bool.
  llvm::Value* unary(ExprOp op, DType operand_type, llvm::Value* a);
  llvm::Value* binary(ExprOp op, DType operand_type, llvm::Value* a, llvm::Value* b);
  // A scalar condition chooses whole vectors.
  llvm::Value* select(llvm::Value* condition, llvm::Value* a, llvm::Value* b);
  llvm::Value* cast(DType from, DType to, llvm::Value* a);

  // Contiguous elements at `pointer`, which need be aligned as one element only. Where `mask` (an
  // i1 for each lane) is false nothing is read, and the value is `outside`, or zero.
  llvm::Value* load(DType dtype, llvm::Value* pointer, int lanes, llvm::Value* mask = nullptr,
                    llvm::Value* outside = nullptr);
  // Elements at `offsets` (i64, counted in elements) from `base`.
  llvm::Value* gather(DType dtype, llvm::Value* base, llvm::Value* offsets,
                      llvm::Value* mask = nullptr, llvm::Value* outside = nullptr);
  // Where `mask` is false nothing is written. A streaming store passes by the caches: `pointer`
  // must then be aligned as the vector or the device's registers, whichever is smaller, and whoever
  // hands the results to another thread needs a fence. With a mask it is a plain store.
  llvm::Instruction* store(DType dtype, llvm::Value* value, llvm::Value* pointer,
                           llvm::Value* mask = nullptr, bool streaming = false);

 private:
  using Value = llvm::Value*;

  Value float_unary(ExprOp op, Value a);
  Value float_binary(ExprOp op, Value a, Value b);
  Value float_extreme(ExprOp op, Value a, Value b);
  Value float_power(Value a, Value b);
  Value integer_unary(ExprOp op, bool is_signed, Value a);
  Value integer_binary(ExprOp op, bool is_signed, Value a, Value b);
  Value integer_division(ExprOp op, bool is_signed, Value a, Value b);
  Value integer_power(bool is_signed, Value a, Value b);
  Value bool_unary(ExprOp op, Value a);
  Value bool_binary(ExprOp op, Value a, Value b);

  // What an operation gives, in its type; fails where it gave nothing.
  Value finished(ExprOp op, DType operand_type, Value result);
  // After an operation in the register's type: wraps or rounds to the element type.
  Value narrowed(DType dtype, Value a);
  Value float_to_integer(DType to, Value a);

  // Between registers and the type in memory.
  llvm::Type* stored_type(DType dtype);
  Value from_stored(DType dtype, Value stored);
  Value to_stored(DType dtype, Value value);

  // A function of codegen/jit/math_library.h by its name in C, of floats or doubles.
  Value call(std::string_view name, const std::vector<Value>& arguments);

  VectorIr ir_;
};

}  // namespace aoe

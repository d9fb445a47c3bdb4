#pragma once

#include <string>

#include "codegen/emit/vector_ir.h"
#include "expr/expr.h"

namespace aoe {

// The type in which a reduction accumulates: f32 for smaller floats.
inline DType widened(DType dtype) {
  return is_float(dtype) && dtype != DType::f64 ? DType::f32 : dtype;
}

// Emits operations on values of expressions: vectors of `lanes` elements, or scalars if lanes is 1.
// Results are those of the reference (docs/numerics.md has the exceptions).
//
// An operand may be a scalar if the other one is a vector: it is then the same in every lane.
// Operations that are not defined for a type throw Error.
class Elements {
 public:
  Elements(llvm::IRBuilder<>& builder, const Device& device) : ir_(builder, device) {}

  // The type of an element in registers: i1 for bool; integers of the same width, i8 for those of
  // fewer than eight bits; double for f64, float for all other floats.
  llvm::Type* type(DType dtype, int lanes);

  llvm::Value* constant(const Expr& constant, int lanes);
  // Broadcasts a scalar; returns vectors of `lanes` and null unchanged.
  llvm::Value* splat(llvm::Value* scalar, int lanes);

  // Returns the result of an expression's operation on its operands. With `wide`, results of small
  // float types are not rounded, but stay f32.
  llvm::Value* applied(const Expr& expr, const std::vector<llvm::Value*>& operands,
                       bool wide = false);

  // `operand_type` is the type of the operands; comparisons and is_... return bool.
  llvm::Value* unary(ExprOp op, DType operand_type, llvm::Value* a);
  llvm::Value* binary(ExprOp op, DType operand_type, llvm::Value* a, llvm::Value* b);
  // A scalar condition selects whole vectors.
  llvm::Value* select(llvm::Value* condition, llvm::Value* a, llvm::Value* b);
  llvm::Value* cast(DType from, DType to, llvm::Value* a);

  // Loads contiguous elements at `pointer`, which needs the alignment of one element only. Lanes
  // where `mask` (an i1 for each lane) is false read nothing and have the value `outside`, or zero.
  llvm::Value* load(DType dtype, llvm::Value* pointer, int lanes, llvm::Value* mask = nullptr,
                    llvm::Value* outside = nullptr);
  // Loads the elements at `offsets` (i64, in elements) from `base`.
  llvm::Value* gather(DType dtype, llvm::Value* base, llvm::Value* offsets,
                      llvm::Value* mask = nullptr, llvm::Value* outside = nullptr);
  // Lanes where `mask` is false are not written. A streaming store bypasses the caches: `pointer`
  // must then have the alignment of the vector or of the device's registers, whichever is smaller,
  // and a fence is needed before other threads read the results. A store with a mask does not
  // stream.
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

  // Narrows the result of an operation to its type. Throws Error if there is none (null).
  Value finished(ExprOp op, DType operand_type, Value result);
  // Wraps or rounds a result in the register's type to the element type.
  Value narrowed(DType dtype, Value a);
  Value float_to_integer(DType to, Value a);

  // Conversions between the types in registers and in memory.
  llvm::Type* stored_type(DType dtype);
  Value from_stored(DType dtype, Value stored);
  Value to_stored(DType dtype, Value value);

  // Calls a function of codegen/jit/math_library.h, by its C name, on floats or doubles.
  Value call(std::string_view name, const std::vector<Value>& arguments);

  VectorIr ir_;
};

}  // namespace aoe

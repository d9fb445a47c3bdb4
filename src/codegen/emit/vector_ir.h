#pragma once

#include <llvm/IR/IRBuilder.h>

#include <functional>
#include <initializer_list>
#include <string>

#include "device/device.h"

namespace aoe {

// Number of elements of a value in generated code: 1 for a scalar.
inline int lanes_of(const llvm::Value* value) {
  const auto* vector = llvm::dyn_cast<llvm::FixedVectorType>(value->getType());
  return vector == nullptr ? 1 : static_cast<int>(vector->getNumElements());
}

inline llvm::Type* with_lanes(llvm::Type* element, int lanes) {
  return lanes == 1 ? element : llvm::FixedVectorType::get(element, static_cast<unsigned>(lanes));
}

// The number in all lanes of a constant; null if `value` is none, or NaN.
const llvm::APFloat* known_number(llvm::Value* value);

// Emits arithmetic on scalars and vectors with the instructions of a device; shared by the emitters
// of element operations. C++ numbers take the type of the value that they are combined with.
class VectorIr {
 public:
  VectorIr(llvm::IRBuilder<>& builder, const Device& device) : b(builder), device(device) {}

  using Value = llvm::Value*;

  // The operand of AVX-512 intrinsics that selects the current rounding mode.
  static constexpr uint32_t kCurrentRounding = 4;

  // Without the instruction, `llvm.fma` would become a call.
  bool has_fma() const { return device.has(Feature::fma); }
  bool has_half() const { return device.has(Feature::f16c); }

  llvm::Type* retyped(Value like, llvm::Type* element) const {
    return with_lanes(element, lanes_of(like));
  }
  Value number(Value like, double value) const {
    return llvm::ConstantFP::get(like->getType(), value);
  }
  Value integer(Value like, int64_t value) const {
    return llvm::ConstantInt::get(like->getType(), static_cast<uint64_t>(value), true);
  }

  // a * b + c, rounded once if the device has the instruction.
  Value multiply_add(Value a, Value b, Value c) const;
  Value multiply_add(Value a, Value b, double c) const { return multiply_add(a, b, number(a, c)); }
  // Coefficients from the highest power down.
  Value polynomial(Value x, std::initializer_list<double> coefficients) const;

  // Bit casts between f32 and 32-bit integers.
  Value bits_of(Value floats) const {
    return b.CreateBitCast(floats, retyped(floats, b.getInt32Ty()));
  }
  Value floats_of(Value bits) const { return b.CreateBitCast(bits, retyped(bits, b.getFloatTy())); }

  Value absolute(Value a) const { return b.CreateUnaryIntrinsic(llvm::Intrinsic::fabs, a); }
  Value is_nan(Value a) const { return b.CreateFCmpUNO(a, a); }

  // The smaller (larger) of `bound` and `a`; NaN stays NaN. One instruction.
  Value at_most(Value a, double bound) const { return selected(true, number(a, bound), a); }
  Value at_least(Value a, double bound) const { return selected(false, number(a, bound), a); }

  // The smaller (larger) of two, `second` if either is NaN. One instruction if the device has it
  // for the type, as an intrinsic, which later passes do not change.
  Value extreme(bool smaller, Value first, Value second) const;

  // Calls a function of codegen/jit/math_library.h, all of one type, for each lane.
  Value call(const std::string& function, const std::vector<Value>& arguments) const;

  // Applies `scalar` to the operands of each lane.
  Value each_lane(const std::vector<Value>& operands,
                  const std::function<Value(const std::vector<Value>&)>& scalar) const;

  llvm::IRBuilder<>& b;
  const Device& device;

 private:
  Value selected(bool smaller, Value first, Value second) const {
    return b.CreateSelect(smaller ? b.CreateFCmpOLT(first, second) : b.CreateFCmpOGT(first, second),
                          first, second);
  }
};

}  // namespace aoe

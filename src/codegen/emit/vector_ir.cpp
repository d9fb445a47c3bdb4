#include "codegen/emit/vector_ir.h"

#include <llvm/IR/IntrinsicsX86.h>
#include <llvm/IR/Module.h>
#include <llvm/IR/PatternMatch.h>

namespace aoe {

const llvm::APFloat* known_number(llvm::Value* value) {
  const llvm::APFloat* number = nullptr;
  const bool known = llvm::PatternMatch::match(value, llvm::PatternMatch::m_APFloat(number));
  return known && !number->isNaN() ? number : nullptr;
}

llvm::Value* VectorIr::multiply_add(Value a, Value x, Value c) const {
  if (!has_fma()) return b.CreateFAdd(b.CreateFMul(a, x), c);
  return b.CreateIntrinsic(llvm::Intrinsic::fma, {a->getType()}, {a, x, c});
}

llvm::Value* VectorIr::polynomial(Value x, std::initializer_list<double> coefficients) const {
  Value sum = nullptr;
  for (const double coefficient : coefficients) {
    sum = sum == nullptr ? number(x, coefficient) : multiply_add(sum, x, coefficient);
  }
  return sum;
}

llvm::Value* VectorIr::call(const std::string& function,
                            const std::vector<Value>& arguments) const {
  llvm::Type* const element = arguments[0]->getType()->getScalarType();
  const std::vector<llvm::Type*> types(arguments.size(), element);
  llvm::Module& module = *b.GetInsertBlock()->getModule();
  llvm::FunctionCallee callee =
      module.getOrInsertFunction(function, llvm::FunctionType::get(element, types, false));
  auto* declared = llvm::cast<llvm::Function>(callee.getCallee());
  // Lets LLVM share equal calls and hoist them out of loops.
  declared->setDoesNotAccessMemory();
  declared->setDoesNotThrow();
  declared->setWillReturn();
  return each_lane(arguments, [&](const auto& scalars) { return b.CreateCall(callee, scalars); });
}

llvm::Value* VectorIr::each_lane(
    const std::vector<Value>& operands,
    const std::function<Value(const std::vector<Value>&)>& scalar) const {
  const int lanes = lanes_of(operands[0]);
  if (lanes == 1) return scalar(operands);
  Value results = nullptr;
  for (int lane = 0; lane < lanes; ++lane) {
    std::vector<Value> scalars;
    for (const Value operand : operands) scalars.push_back(b.CreateExtractElement(operand, lane));
    Value result = scalar(scalars);
    if (lane == 0) results = llvm::PoisonValue::get(with_lanes(result->getType(), lanes));
    results = b.CreateInsertElement(results, result, lane);
  }
  return results;
}

llvm::Value* VectorIr::extreme(bool smaller, Value first, Value second) const {
  using namespace llvm::Intrinsic;
  const bool floats = first->getType()->getScalarType()->isFloatTy();
  const int lanes = floats ? lanes_of(first) : 0;
  if (lanes == 4 && device.has(Feature::sse2)) {
    return b.CreateIntrinsic(smaller ? x86_sse_min_ps : x86_sse_max_ps, {}, {first, second});
  }
  if (lanes == 8 && device.has(Feature::avx2)) {
    return b.CreateIntrinsic(smaller ? x86_avx_min_ps_256 : x86_avx_max_ps_256, {},
                             {first, second});
  }
  if (lanes == 16 && device.has(Feature::avx512)) {
    return b.CreateIntrinsic(smaller ? x86_avx512_min_ps_512 : x86_avx512_max_ps_512, {},
                             {first, second, b.getInt32(kCurrentRounding)});
  }
  return selected(smaller, first, second);
}

}  // namespace aoe

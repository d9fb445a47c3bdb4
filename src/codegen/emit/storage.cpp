#include <llvm/IR/Module.h>

#include <algorithm>

#include "codegen/emit/elements.h"
#include "codegen/emit/smallfloats.h"

// Loads and stores of elements. A scalar under a mask is handled as a vector of one.

namespace aoe {
namespace {

llvm::Value* as_vector(llvm::IRBuilder<>& b, llvm::Value* value) {
  if (value->getType()->isVectorTy()) return value;
  llvm::Type* const vector = llvm::FixedVectorType::get(value->getType(), 1);
  return b.CreateInsertElement(llvm::PoisonValue::get(vector), value, uint64_t{0});
}

}  // namespace

llvm::Type* Elements::stored_type(DType dtype) {
  if (dtype != DType::boolean && !is_small_float(dtype)) return type(dtype, 1);
  return ir_.b.getIntNTy(static_cast<unsigned>(info(dtype).bytes) * 8);
}

llvm::Value* Elements::from_stored(DType dtype, Value stored) {
  if (dtype == DType::boolean) return ir_.b.CreateICmpNE(stored, ir_.integer(stored, 0));
  if (is_small_float(dtype)) return decoded(ir_, dtype, stored);
  return narrowed(dtype, stored);
}

llvm::Value* Elements::to_stored(DType dtype, Value value) {
  if (dtype == DType::boolean) {
    return ir_.b.CreateZExt(value, ir_.retyped(value, ir_.b.getInt8Ty()));
  }
  return is_small_float(dtype) ? encoded(ir_, dtype, value) : value;
}

llvm::Value* Elements::load(DType dtype, Value pointer, int lanes, Value mask, Value outside) {
  llvm::IRBuilder<>& b = ir_.b;
  llvm::Type* const stored = stored_type(dtype);
  const llvm::Align alignment(static_cast<uint64_t>(info(dtype).bytes));
  if (mask == nullptr) {
    return from_stored(dtype, b.CreateAlignedLoad(with_lanes(stored, lanes), pointer, alignment));
  }
  auto* const vector = llvm::FixedVectorType::get(stored, static_cast<unsigned>(lanes));
  Value loaded = b.CreateMaskedLoad(vector, pointer, alignment, as_vector(b, splat(mask, lanes)),
                                    llvm::Constant::getNullValue(vector));
  if (lanes == 1) loaded = b.CreateExtractElement(loaded, uint64_t{0});
  Value value = from_stored(dtype, loaded);
  // Not the pass-through operand of the intrinsic: `outside` need not be representable in memory.
  return outside == nullptr ? value : select(mask, value, outside);
}

llvm::Value* Elements::gather(DType dtype, Value base, Value offsets, Value mask, Value outside) {
  llvm::IRBuilder<>& b = ir_.b;
  llvm::Type* const stored = stored_type(dtype);
  const int lanes = lanes_of(offsets);
  Value pointers = b.CreateGEP(stored, base, offsets);
  if (lanes == 1) return load(dtype, pointers, 1, mask, outside);
  const llvm::Align alignment(static_cast<uint64_t>(info(dtype).bytes));
  llvm::Type* const vector = with_lanes(stored, lanes);
  Value value =
      from_stored(dtype, b.CreateMaskedGather(vector, pointers, alignment, splat(mask, lanes),
                                              llvm::Constant::getNullValue(vector)));
  return mask == nullptr || outside == nullptr ? value : select(mask, value, outside);
}

llvm::Instruction* Elements::store(DType dtype, Value value, Value pointer, Value mask,
                                   bool streaming) {
  llvm::IRBuilder<>& b = ir_.b;
  const auto bytes = static_cast<uint64_t>(info(dtype).bytes);
  Value stored = to_stored(dtype, value);
  if (mask != nullptr) {
    return b.CreateMaskedStore(as_vector(b, stored), pointer, llvm::Align(bytes),
                               as_vector(b, splat(mask, lanes_of(value))));
  }
  if (!streaming) return b.CreateAlignedStore(stored, pointer, llvm::Align(bytes));
  const uint64_t size = bytes * static_cast<uint64_t>(lanes_of(value));
  const uint64_t registers = static_cast<uint64_t>(ir_.device.vector_bytes);
  auto* const written =
      b.CreateAlignedStore(stored, pointer, llvm::Align(std::min(size, registers)));
  auto* const one = llvm::ConstantAsMetadata::get(b.getInt32(1));
  written->setMetadata(llvm::LLVMContext::MD_nontemporal, llvm::MDNode::get(b.getContext(), one));
  return written;
}

}  // namespace aoe

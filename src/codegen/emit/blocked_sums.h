#pragma once

#include <cstdint>
#include <functional>
#include <span>

#include "codegen/emit/function_builder.h"

namespace aoe {

// Blocked summation: a sum takes 64 elements, then it is added to a sum of such sums, and so on.
// The error of n elements grows with 64 log64(n) roundings, not with n.
inline constexpr int64_t kAdditionsOfOneSum = 64;
// Sums of at most so many elements are not blocked: the error is below 1e-4 even if all roundings
// go the same way (equal elements), and the accumulators of outer sums take registers.
inline constexpr int64_t kAdditionsWithoutBlocks = 1024;

// A loop from 0 to `end`, each iteration of which adds `additions` elements, one after the other,
// to each of the accumulators that it is given.
struct SumLoop {
  int64_t end = 0;
  int64_t step = 1;
  int64_t additions = 1;
  bool blocked = false;

  // Additions to each of the accumulators that the loop as a whole is given.
  int64_t additions_in_all() const;
};

using SumBody = std::function<void(llvm::Value* index, std::span<llvm::Value*> accumulators)>;
// Calls its second argument with new accumulators, and adds these to the given ones.
using AddPartial = std::function<void(std::span<llvm::Value*> accumulators,
                                      const std::function<void(std::span<llvm::Value*>)>& emit)>;

void emit_sum_loop(FunctionBuilder& function, const SumLoop& loop,
                   std::span<llvm::Value*> accumulators, const AddPartial& add_partial,
                   const SumBody& body);

}  // namespace aoe

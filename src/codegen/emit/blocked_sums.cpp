#include "codegen/emit/blocked_sums.h"

#include <algorithm>

#include "base/shape.h"

namespace aoe {
namespace {

bool is_divided(const SumLoop& loop, int64_t iterations) {
  return loop.blocked && iterations > 1 && iterations * loop.additions > 2 * kAdditionsOfOneSum;
}

// Iterations per part, if so many are divided: there are then at most 64 parts.
int64_t iterations_of_part(const SumLoop& loop, int64_t iterations) {
  int64_t part = std::max<int64_t>(1, kAdditionsOfOneSum / loop.additions);
  while (part * kAdditionsOfOneSum < iterations) part *= kAdditionsOfOneSum;
  return part;
}

// Emits iterations from `begin` to `end`, of which there are at most `iterations`. If they are
// divided twice:
//   for a part of the range           s1 = 0
//     for a part of this part         s2 = 0
//       for its iterations            s2 += elements
//                                     s1 += s2
//                                     accumulators += s1
void emit_range(FunctionBuilder& function, const SumLoop& loop, llvm::Value* begin,
                llvm::Value* end, int64_t iterations, std::span<llvm::Value*> accumulators,
                const AddPartial& add_partial, const SumBody& body) {
  if (!is_divided(loop, iterations)) {
    return function.loop(begin, end, loop.step, accumulators,
                         [&](llvm::Value* i) { body(i, accumulators); });
  }
  const int64_t part = iterations_of_part(loop, iterations);
  const int64_t step = part * loop.step;
  function.loop(begin, end, step, accumulators, [&](llvm::Value* start) {
    llvm::Value* stop = function.ir().CreateBinaryIntrinsic(
        llvm::Intrinsic::umin, function.ir().CreateAdd(start, function.index(step)), end);
    add_partial(accumulators, [&](std::span<llvm::Value*> sums) {
      emit_range(function, loop, start, stop, part, sums, add_partial, body);
    });
  });
}

int64_t iterations_of(const SumLoop& loop) { return ceil_div(loop.end, loop.step); }

}  // namespace

int64_t SumLoop::additions_in_all() const {
  const int64_t iterations = iterations_of(*this);
  if (!is_divided(*this, iterations)) return iterations * additions;
  return ceil_div(iterations, iterations_of_part(*this, iterations));
}

void emit_sum_loop(FunctionBuilder& function, const SumLoop& loop,
                   std::span<llvm::Value*> accumulators, const AddPartial& add_partial,
                   const SumBody& body) {
  emit_range(function, loop, function.index(0), function.index(loop.end), iterations_of(loop),
             accumulators, add_partial, body);
}

}  // namespace aoe

#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "expr/workload.h"
#include "loop/loop_policy.h"

namespace aoe {

constexpr int64_t kCacheLine = 64;

// Memory that a nest reads or writes. A row is private to a thread: it lives for one point of the
// outer axes and is indexed by the other axes alone.
struct NestBuffer {
  DType dtype = DType::f32;
  Shape shape;
  int value = -1;  // the value of the workload whose storage it is; -1: scratch memory
  bool row = false;
};

// Returns a buffer that covers all of a value, in the value's shape.
NestBuffer buffer_over(const Workload& workload, int64_t value);

// The destination of a result: the element of a buffer at a linear offset.
struct NestStore {
  int buffer = -1;
  Expr offset;
};

// The loops of one stage. Axes are the nest's outer ones, further output axes, then reduced ones.
// Loads name buffers. A linear load has one index, an offset that is known to be inside the buffer.
struct Loop {
  Shape extents;
  size_t out_rank = 0;  // number of axes that are not reduced
  std::optional<Reducer> reducer;
  std::vector<Expr> elements;
  std::vector<Expr> results;
  std::vector<NestStore> stores;  // one for each result
  // An intermediate value of the elements that later loops read: stored in each iteration.
  struct Kept {
    Expr value;
    NestStore store;
  };
  std::vector<Kept> kept;
  // Runs once per call, before the first outer point: the loop depends on no outer axis, and
  // nothing overwrites its results.
  bool once = false;
  LoopPolicy policy;

  bool is_reduced(size_t axis) const { return axis >= out_rank; }
  Shape out_extents() const { return head(extents, out_rank); }
  // Returns the elements, then the results.
  std::vector<Expr> values() const;
  // Whether it sums products of f32 or f64.
  bool sums_float_products() const;
  // Whether elements where this load is out of range leave the reduction as it is (but see
  // docs/numerics.md: infinities).
  bool ignores_outside(const Expr& load) const;

  void for_each_store(const std::function<void(NestStore&)>& visit);
  // Calls `visit` for every expression, including the offsets of stores; `visit` may replace it.
  void for_each_expr(const std::function<void(Expr&)>& visit);

  // Replaces axis i by `to[i]` in every expression.
  void substitute(const std::vector<Expr>& to);
  // Splits an axis into two: the number of the block, and the position in it. `block` divides the
  // extent.
  void split(size_t axis, int64_t block);
  // Restricts an axis to `extent` positions from `first` on.
  void narrow(size_t axis, int64_t first, int64_t extent);
};

// Returns a loop without a reduction.
Loop plain_loop(Shape extents, std::vector<Expr> results, std::vector<NestStore> stores);

// Calls `visit` once for every node that is computed, users before their operands. Indexes of loads
// are skipped: they are computed once per vector.
void for_each_value(const std::vector<Expr>& exprs, const std::function<void(const Expr&)>& visit);

// Replaces x / d, where d does not depend on the axis, by x * (1 / d), as in a softmax: d is then
// divided by once for all positions. The last digit may differ. Only the outermost operation is
// replaced: below a rounding to integers that would show.
Expr without_repeated_division(const Expr& result, int axis);

// A Nest becomes one function: for every point of the outer axes it runs its loops in order. Outer
// points are independent and are numbered linearly, so that threads can divide them.
struct Nest {
  Shape outer;
  std::vector<NestBuffer> buffers;
  std::vector<Loop> loops;
  // The axis whose bounds are arguments of a call, the same in all loops; -1: none.
  int ranged_axis = -1;

  int64_t points() const { return element_count(outer); }
  // Bytes of all row buffers, per thread.
  int64_t row_bytes() const;
  // Offset of a row buffer in that memory, in bytes.
  int64_t row_buffer_offset(size_t buffer) const;
  // Returns the first buffer over the same memory: a value may have a buffer for each shape.
  size_t memory_of(size_t buffer) const;
};

// Prints an indented loop nest, for people and golden tests. The text contains everything that the
// generated code depends on: it is the nest's part of the code cache's key.
std::string to_string(const Nest& nest);

}  // namespace aoe

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
  int value = -1;  // the workload's value that it holds
  bool row = false;
};

// All of a value, in its shape.
NestBuffer buffer_over(const Workload& workload, int64_t value);

// Where a result goes: the element of a buffer at a linear offset.
struct NestStore {
  int buffer = -1;
  Expr offset;
};

// The loops of one stage. Axes are the nest's outer ones, further output axes, then reduced ones.
// Loads name buffers; one whose index is a single number is known to stay inside the buffer, and
// the number is a linear offset.
struct Loop {
  Shape extents;
  size_t out_rank = 0;  // axes that are not reduced
  std::optional<Reducer> reducer;
  std::vector<Expr> elements;
  std::vector<Expr> results;
  std::vector<NestStore> stores;  // one for each result
  // Values computed on the way to the elements that others need too.
  struct Kept {
    Expr value;
    NestStore store;
  };
  std::vector<Kept> kept;
  // Depends on no outer axis, and what it writes stays: run before the first outer point only.
  bool once = false;
  LoopPolicy policy;

  bool is_reduced(size_t axis) const { return axis >= out_rank; }
  Shape out_extents() const { return head(extents, out_rank); }
  // The elements, then the results.
  std::vector<Expr> values() const;

  void for_each_store(const std::function<void(NestStore&)>& visit);
  // Every expression, to look at or to replace; the offsets of stores are among them.
  void for_each_expr(const std::function<void(Expr&)>& visit);

  // Axis i becomes `to[i]`.
  void substitute(const std::vector<Expr>& to);
  // An axis becomes two: blocks of so many positions, and where in a block.
  void split(size_t axis, int64_t block);
  // Only `extent` positions of an axis are left, from `first` on.
  void narrow(size_t axis, int64_t first, int64_t extent);
};

// A loop that reduces nothing.
Loop plain_loop(Shape extents, std::vector<Expr> results, std::vector<NestStore> stores);

// Calls `visit` once for every node of what is computed, operands after what uses them. Not for
// what stands in an index: it is computed once for a vector.
void for_each_value(const std::vector<Expr>& exprs, const std::function<void(const Expr&)>& visit);

// What becomes one function: for every point of the outer axes, the loops in order. Points of the
// outer axes are independent and are counted as one number, so that threads can share them.
struct Nest {
  Shape outer;
  std::vector<NestBuffer> buffers;
  std::vector<Loop> loops;
  // An axis of the only loop whose bounds are given when it runs, or -1.
  int ranged_axis = -1;

  int64_t points() const { return element_count(outer); }
  // Bytes that a thread needs for rows.
  int64_t row_bytes() const;
  // Where a row buffer begins in them.
  int64_t row_buffer_offset(size_t buffer) const;
  // The first buffer over the same memory: one value may be seen in several shapes.
  size_t memory_of(size_t buffer) const;
};

// As an indented loop nest, for people and golden tests; it says all that the code depends on.
std::string to_string(const Nest& nest);

}  // namespace aoe

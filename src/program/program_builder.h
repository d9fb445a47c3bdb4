#pragma once

#include <map>

#include "program/program.h"

namespace aoe {

// The state and helpers that the builders of a Program share. There is one builder for each kind of
// item: nests (build.cpp), products, Winograd and Strassen.
class ProgramBuilder {
 public:
  ProgramBuilder(const Schedule& schedule, const Device& device, int threads)
      : workload(schedule.workload), device(device) {
    program.threads = threads;
  }

  // Returns a loop with a new variable.
  For loop(Index end, bool parallel = false);
  // Returns a call with the policy's tile, without sizes and sides.
  ProductCall product(DType dtype, const ProductPolicy& policy) const;
  // Returns the packing of a constant side of a stage's contraction, seen as a rows x columns
  // matrix.
  static PackedWeights packed(size_t stage, const Contraction& c, const Expr& side,
                              const std::vector<size_t>& rows, const std::vector<size_t>& columns);

  // Returns the buffer of a value of the workload; adds it at the first request.
  Access value(int value);
  // Makes a value private to a thread: later requests for it return a thread buffer of `elements`
  // elements, shifted by `offset`.
  void make_private(int value, int64_t elements, const Expr& offset);
  Access thread(DType dtype, int64_t elements);
  Access weights(DType dtype, PackedWeights packed);

  // Returns a call for a range of outer points. `scratch`: the nest's buffer without a value.
  NestCall nest(const Nest& nest, Index first, Index last, const Access& scratch = {});

  // Adds the tiles that a call needs, for all numbers of rows and of columns that it may have.
  void add_tiles(ProductCall& call, const std::vector<int64_t>& rows,
                 const std::vector<int64_t>& columns);

  // Adds the epilogue of a contraction to the call's tile, and its operands to the call, at an
  // outer point and a first column.
  void add_result(ProductCall& call, const Stage& stage, const Contraction& c, const Expr& outer,
                  const Expr& column);

  Program program;
  const Workload& workload;
  const Device& device;

 private:
  int add(ProgramBuffer buffer);

  std::map<int, Access> values_;
  std::map<std::string, size_t> nests_, tiles_;
};

// Elements from row to row: `padding` is added to rows of whole pages, which would all map to the
// same sets of the first-level cache.
int64_t padded_pitch(int64_t elements, DType dtype, int64_t padding);

// Quotient and remainder of a non-negative number; constants are folded.
Expr quotient(const Expr& number, int64_t by);
Expr remainder(const Expr& number, int64_t by);

// The offset of the linear position `count` over `axes`, with a stride for each axis.
Expr along(const Expr& count, const Shape& extents, const std::vector<size_t>& axes,
           const std::vector<int64_t>& strides);

// One of `points` equal parts of a contraction's outer points and rows, computed inside a loop over
// strips.
struct Strip {
  Expr point;          // the number of this part
  int64_t points = 1;  // number of parts
};

For product_program(ProgramBuilder& builder, const ProductItem& item, const ProductPolicy& policy);
std::vector<Stmt> product_in_strip(ProgramBuilder& builder, const ProductItem& item,
                                   const ProductPolicy& policy, const Strip& strip);
For winograd_program(ProgramBuilder& builder, const ProductItem& item, const ProductPolicy& policy);
For strassen_program(ProgramBuilder& builder, const ProductItem& item, const ProductPolicy& policy);

}  // namespace aoe

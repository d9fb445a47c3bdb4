#pragma once

#include <map>

#include "program/program.h"

namespace aoe {

// What the builders of Programs share: one for each way to run an item of a schedule.
class ProgramBuilder {
 public:
  ProgramBuilder(const Schedule& schedule, const Device& device, int threads)
      : workload(schedule.workload), device(device) {
    program.threads = threads;
  }

  // A loop with a new variable; calls of products with the policy's tiles; what packs a side
  // of a stage's contraction, as one matrix.
  For loop(Index end, bool parallel = false);
  ProductCall product(DType dtype, const ProductPolicy& policy) const;
  static PackedWeights packed(size_t stage, const Contraction& c, const Expr& side,
                              const std::vector<size_t>& rows, const std::vector<size_t>& columns);

  // Where a value of the workload is.
  Access value(int value);
  // From now on the value is private to a thread, which has it from an offset on.
  void make_private(int value, int64_t elements, const Expr& offset);
  Access thread(DType dtype, int64_t elements);
  Access weights(DType dtype, PackedWeights packed);

  // A call for a range of outer points. `scratch` is the nest's buffer without a value.
  NestCall nest(const Nest& nest, Index first, Index last, const Access& scratch = {});

  // Adds the tiles that a call needs for blocks of so many rows, of so many columns.
  void add_tiles(ProductCall& call, const std::vector<int64_t>& rows,
                 const std::vector<int64_t>& columns);

  // What is made of a contraction's sums, into a tile and, for an outer point and from a column on,
  // a call.
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

// The elements of a row in memory: rows whole pages apart would all want the same places of the
// first-level cache.
int64_t padded_pitch(int64_t elements, DType dtype, int64_t padding);

// Of a number that is not negative; one that is known is computed.
Expr quotient(const Expr& number, int64_t by);
Expr remainder(const Expr& number, int64_t by);

// The positions of axes that are counted as one, times their strides.
Expr along(const Expr& count, const Shape& extents, const std::vector<size_t>& axes,
           const std::vector<int64_t>& strides);

// A part of the rows of a contraction's outer points, by which it is computed inside a loop.
struct Strip {
  Expr point;          // which
  int64_t points = 1;  // of all of them together
};

For product_program(ProgramBuilder& builder, const ProductItem& item, const ProductPolicy& policy);
std::vector<Stmt> product_strip(ProgramBuilder& builder, const ProductItem& item,
                                const ProductPolicy& policy, const Strip& strip);
For winograd_program(ProgramBuilder& builder, const ProductItem& item, const ProductPolicy& policy);
For strassen_program(ProgramBuilder& builder, const ProductItem& item, const ProductPolicy& policy);

}  // namespace aoe

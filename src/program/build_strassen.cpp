#include <algorithm>
#include <array>

#include "expr/rewrite.h"
#include "policy/strassen.h"
#include "program/program_builder.h"

// Builds a product with weights by Strassen's algorithm (policy/strassen.h), a strip of pairs of
// rows at a time:
//
//   parallel task                      # strip of pairs of rows x part of the column panels
//     nest, nest                       # sums of pairs of rows, and of a last row without partner
//     for panel of columns
//       product x 7                    # five are kept, four give results

namespace aoe {
namespace {

constexpr int kKept = 5;  // products that later results add: M1 to M5

// The seven products of quarters, A of the rows and B of the weights, by their usual names, and the
// results C:
//
//   M1 = (A11 + A22) (B11 + B22)   M2 = (A21 + A22) B11   M3 = A11 (B12 - B22)
//   M4 = A22 (B21 - B11)           M5 = (A11 + A12) B22
//   M6 = (A21 - A11) (B11 + B12)   M7 = (A12 - A22) (B21 + B22)
//
//   C11 = M1 + M4 - M5 + M7   C12 = M3 + M5   C21 = M2 + M4   C22 = M1 - M2 + M3 + M6
//
// Rows of A1 and A2 alternate: they are the even and the odd rows. Only one result needs M6 or M7:
// they stay in the accumulators to which the other products are added, and are not kept.
struct Multiplication {
  enum Left { sum0, sum1, sum2, sum3, sum4, even_left, odd_right };
  struct Term {
    int kept;
    int sign;
  };
  Left left;
  std::array<double, 4> right;  // factors of B11, B12, B21, B22
  bool even;                    // for all even rows; else only for those with an odd partner
  int kept;                     // index of the kept product, M1 is 0; -1: not kept
  std::vector<Term> added;      // kept products that are added to it for a result
  int quarter;                  // the result, 0 to 3 for C11, C12, C21, C22; -1: none
};

// Ordered so that products are kept before they are added.
const std::array<Multiplication, 7>& multiplications() {
  using M = Multiplication;
  static const std::array<Multiplication, 7> all{{
      {M::sum0, {1, 0, 0, 1}, true, 0, {}, -1},                          // M1
      {M::sum1, {1, 0, 0, 0}, false, 1, {}, -1},                         // M2
      {M::even_left, {0, 1, 0, -1}, true, 2, {}, -1},                    // M3
      {M::sum3, {1, 1, 0, 0}, false, -1, {{0, 1}, {2, 1}, {1, -1}}, 3},  // M6 gives C22
      {M::odd_right, {-1, 0, 1, 0}, false, 3, {{1, 1}}, 2},              // M4 gives C21
      {M::sum2, {0, 0, 0, 1}, true, 4, {{2, 1}}, 1},                     // M5 gives C12
      {M::sum4, {0, 0, 1, 1}, true, -1, {{0, 1}, {3, 1}, {4, -1}}, 0},   // M7 gives C11
  }};
  return all;
}

// Index of M4, the only product of odd rows that a result of an even row (C11) adds.
constexpr int kOfOddRows = 3;

}  // namespace

For strassen_program(ProgramBuilder& b, const ProductItem& item, const ProductPolicy& policy) {
  const Stage& stage = b.workload.stages[item.stage];
  const Contraction c = *contraction_of(stage);
  const MatrixLoad left = *matrix_load(b.workload, stage, c, c.left);
  const int64_t evens = ceil_div(c.row_count, 2);
  const int64_t odds = c.row_count / 2;
  const int64_t depth = c.depth_count / 2;
  const int64_t columns = c.column_count / 2;
  const int64_t width = int64_t{policy.vectors} * policy.lanes;
  const int64_t strips = ceil_div(evens, strassen_strip(policy));
  const int64_t each = ceil_div(evens, strips);
  const int64_t panels = columns / width;
  const int64_t parts = std::min<int64_t>(panels, ceil_div(b.program.threads, strips));
  const int64_t pitch = padded_pitch(depth, DType::f32, 16);

  For loop = b.loop(strips * parts, true);
  const Expr task = loop.index();
  const Expr first = quotient(task, parts) * each;
  const Expr end = min(first + each, evens);
  const Expr paired = min(first + each, odds);

  Access sums = b.thread(DType::f32, kStrassenSums * each * pitch);
  std::vector<Access> kept;
  for (int i = 0; i < kKept; ++i) kept.push_back(b.thread(DType::f32, each * width));
  const ProductShape shape = product_shape(b.workload, stage, c);
  Access from_first = sums;  // nests count from the first row of the whole matrix
  from_first.offset = 0 - first * pitch;
  loop.body.emplace_back(
      b.nest(strassen_sums(b.workload, left, shape, false, pitch, each * pitch, b.device), first,
             paired, from_first));
  if (odds != evens) {
    loop.body.emplace_back(
        b.nest(strassen_sums(b.workload, left, shape, true, pitch, each * pitch, b.device), paired,
               end, from_first));
    // M4 of the missing odd row is zero.
    Access missing = kept[kOfOddRows];
    missing.offset = 0 - first * width;
    loop.body.emplace_back(b.nest(strassen_zeros(evens, width, b.device), paired, end, missing));
  }

  PackedWeights weights = b.packed(item.stage, c, c.right, c.depth, c.columns);
  weights.depth = depth;
  weights.width = columns;
  weights.depth_stride = 2 * columns;
  weights.panel = width;
  weights.parts = {0, columns, 2 * depth * columns, 2 * depth * columns + columns};
  weights.factors.clear();
  for (const Multiplication& m : multiplications()) {
    weights.factors.insert(weights.factors.end(), m.right.begin(), m.right.end());
  }
  const Access right = b.weights(DType::f32, std::move(weights));

  const Expr part = remainder(task, parts);
  For over_panels = b.loop(quotient((part + 1) * panels, parts));
  over_panels.begin = quotient(part * panels, parts);
  const Expr panel = over_panels.index();
  int64_t number = 0;
  for (const Multiplication& m : multiplications()) {
    ProductCall call = b.product(DType::f32, policy);
    const bool result = m.quarter >= 0;
    const Expr row = first * 2 + (m.quarter >= 2 ? 1 : 0);  // first row of results; stride 2
    const Expr column = panel * width + (result && m.quarter % 2 == 1 ? columns : 0);
    call.rows = max((m.even ? end : paired) - first, 0);
    call.columns = width;
    call.depth = depth;
    call.left_depth = 1;
    if (m.left <= Multiplication::sum4) {
      call.left = {sums.buffer, static_cast<int64_t>(m.left) * each * pitch};
      call.left_row = pitch;
    } else {
      const bool odd = m.left == Multiplication::odd_right;
      call.left = b.value(left.value);
      call.left.offset =
          (first * 2 + (odd ? 1 : 0)) * left.row_stride + left.base + (odd ? depth : 0);
      call.left_row = 2 * left.row_stride;
    }
    call.right = {
        right.buffer,
        (panel * static_cast<int64_t>(multiplications().size()) + number++) * (depth * width)};
    call.right_depth = width;
    if (policy.prefetch) {
      call.prefetch = {right.buffer, call.right.offset.expr + depth * width};
    }
    if (result) {
      b.add_result(call, stage, c, Expr::integer(DType::i64, 0), column);
      for (ProductCall::Operand& operand : call.operands) {
        operand.at.offset = operand.at.offset.expr + row * operand.row;
        operand.row *= 2;
      }
      Expr sum = Expr::arg(0, DType::f32);
      for (const auto& [which, sign] : m.added) {
        const auto load = Expr::load(static_cast<int64_t>(call.operands.size()), DType::f32, {});
        call.operands.push_back({kept[static_cast<size_t>(which)], width, 1});
        call.tile.operands.push_back({DType::f32, true});
        sum = sign < 0 ? sum - load : sum + load;
      }
      call.tile.result = rewrite(
          call.tile.result, [&](const Expr& e) { return e->op == ExprOp::arg ? sum : Expr{}; });
      call.tile.keeps = m.kept >= 0;
      if (call.tile.keeps) call.sums = kept[static_cast<size_t>(m.kept)];
      call.sums_row = width;
      call.out = b.value(stage.outputs[0]);
      call.out.offset = row * (2 * columns) + column;
      call.out_row = 4 * columns;
    } else {
      call.out = kept[static_cast<size_t>(m.kept)];
      call.out_row = width;
    }
    const int64_t all = m.even ? evens : odds;
    b.add_tiles(call, {std::min(all, each), all % each}, {width});
    over_panels.body.emplace_back(std::move(call));
  }
  loop.body.emplace_back(std::move(over_panels));
  return loop;
}

}  // namespace aoe

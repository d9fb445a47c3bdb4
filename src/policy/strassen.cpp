#include "policy/strassen.h"

#include "loop/lower.h"
#include "policy/loop_defaults.h"
#include "policy/schedule.h"

namespace aoe {
namespace {

// Lowers the loop and applies the default policy, without streaming: results are read at once.
Nest finished(Nest nest, Loop loop, const Device& device) {
  nest.loops = {lower_loop(nest.buffers, std::move(loop), nest.outer.size())};
  const NestPolicy policy = choose_loops(nest, device, false);
  return decided(std::move(nest), policy);
}

}  // namespace

bool may_run_by_strassen(const Workload& workload, const Stage& stage, const Contraction& c,
                         const ProductShape& shape) {
  if (shape.outer != 1 || shape.left != Side::direct || shape.right != Side::prepacked)
    return false;
  if (shape.rows < 2 || shape.columns % 2 != 0 || shape.depth % 2 != 0) return false;
  if (shape.dtype != DType::f32 || c.left.dtype() != DType::f32) return false;
  const auto left = matrix_load(workload, stage, c, c.left);
  return left && left->depth_stride == 1;
}

ProductShape strassen_shape(const ProductShape& shape) {
  ProductShape half = shape;
  half.rows = half.line = ceil_div(shape.rows, 2);
  half.columns = shape.columns / 2;
  half.depth = shape.depth / 2;
  half.column_step = half.depth_step = 1;
  half.left_elements = half.rows * half.depth;
  half.transformed = true;
  return half;
}

Nest strassen_sums(const Workload& workload, const MatrixLoad& left, const ProductShape& shape,
                   bool alone, int64_t pitch, int64_t step, const Device& device) {
  const int64_t upper = ceil_div(shape.rows, 2);
  Nest nest;
  nest.outer = {upper};
  nest.buffers = {buffer_over(workload, left.value),
                  {DType::f32, {(kStrassenSums - 1) * step + upper * pitch}, -1, false}};
  const auto quarter = [&](int64_t row, int64_t depth) {
    const Expr at = Expr::axis(0) * (2 * left.row_stride) + Expr::axis(1) +
                    (left.base + row * left.row_stride + depth * shape.depth / 2);
    return Expr::linear_load(0, DType::f32, at);
  };
  const Expr a11 = quarter(0, 0);
  const Expr a12 = quarter(0, 1);
  const Expr none = Expr::constant(DType::f32, 0);
  const Expr a21 = alone ? none : quarter(1, 0);
  const Expr a22 = alone ? none : quarter(1, 1);
  std::vector<Expr> sums;
  if (alone) sums = {a11, none, a11 + a12, none, a12};
  else sums = {a11 + a22, a21 + a22, a11 + a12, a21 - a11, a12 - a22};
  const Expr place = Expr::axis(0) * pitch + Expr::axis(1);
  std::vector<NestStore> stores;
  for (int64_t s = 0; s < kStrassenSums; ++s) stores.push_back({1, place + s * step});
  Loop loop = plain_loop({upper, shape.depth / 2}, std::move(sums), std::move(stores));
  return finished(std::move(nest), std::move(loop), device);
}

int64_t strassen_strip(const ProductPolicy& policy) {
  constexpr int64_t kMostPairs = 128;
  return policy.strip > 0 ? policy.strip : kMostPairs;
}

Nest strassen_zeros(int64_t rows, int64_t width, const Device& device) {
  Nest nest;
  nest.outer = {rows};
  nest.buffers = {{DType::f32, {rows * width}, -1, false}};
  const NestStore store{0, Expr::axis(0) * width + Expr::axis(1)};
  Loop loop = plain_loop({rows, width}, {Expr::constant(DType::f32, 0)}, {store});
  return finished(std::move(nest), std::move(loop), device);
}

}  // namespace aoe

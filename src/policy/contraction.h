#pragma once

#include <optional>
#include <vector>

#include "expr/workload.h"

namespace aoe {

// A stage seen as matrix products: for each outer point, out[row, column] is the sum over the depth
// of left[row, depth] * right[depth, column]. Convolutions, matrix products and their gradients
// have this form. Columns are the last axes, so that vectors go along them.
struct Contraction {
  std::vector<size_t> outer;  // axes of the stage, without those of extent 1
  std::vector<size_t> rows;
  std::vector<size_t> columns;
  std::vector<size_t> depth;
  Expr left;
  Expr right;

  int64_t row_count = 1;
  int64_t column_count = 1;
  int64_t depth_count = 1;
  int64_t outer_count = 1;
};

// Concatenates lists of axes.
template <typename... More>
std::vector<size_t> joined(std::vector<size_t> axes, const More&... more) {
  (axes.insert(axes.end(), more.begin(), more.end()), ...);
  return axes;
}

std::optional<Contraction> contraction_of(const Stage& stage);

// Most loads in the epilogue of a product.
inline constexpr int kMostProductOperands = 6;

// `extent` positions, `stride` elements apart in memory.
struct Stride {
  int64_t extent = 1;
  int64_t stride = 0;
};

// The tensor that a load reads, and its strides along the outer axes.
struct LoadedMatrix {
  int value = -1;
  int64_t base = 0;
  std::vector<int64_t> outer_strides;  // for each outer axis
};

// The access pattern of a load: its strides along rows, columns and depth, outermost first, merged
// where possible. A list is empty if the load does not depend on any of its axes.
struct AccessPattern : LoadedMatrix {
  std::vector<Stride> rows;
  std::vector<Stride> columns;
  std::vector<Stride> depth;
};

// Returns nothing if the load may leave its tensor or is not affine.
std::optional<AccessPattern> access_pattern(const Workload& workload, const Stage& stage,
                                            const Contraction& contraction, const Expr& load);

// An access pattern with a single stride along each of rows, columns and depth: the element is at
// base + outer part + row * row_stride + column * column_stride + depth * depth_stride, where rows,
// columns and depth are numbered linearly.
struct MatrixLoad : LoadedMatrix {
  int64_t row_stride = 0;
  int64_t column_stride = 0;
  int64_t depth_stride = 0;
};

std::optional<MatrixLoad> matrix_load(const Workload& workload, const Stage& stage,
                                      const Contraction& contraction, const Expr& load);

// Whether an expression loads only weights and constants.
bool is_constant(const Workload& workload, const Expr& expr);

// A workload whose contractions can run as matrix products. Each vector has an entry per stage.
struct RewrittenWorkload {
  Workload workload;
  std::vector<bool> contracts;  // runs as a matrix product
  std::vector<size_t> origins;  // the stage of the given workload that it comes from
  std::vector<bool> constant;   // only lays out weights: runs once, before the first run
};
// Rewrites contractions so that products can read them: padding is written out, sides in other
// layouts are copied, and an epilogue that tiles cannot compute becomes a separate stage. `may`:
// the stages that may run as products. `as_they_are`: products that are not rewritten (Winograd).
RewrittenWorkload rewrite_contractions(const Workload& workload, const std::vector<bool>& may,
                                       const std::vector<bool>& as_they_are);

}  // namespace aoe

#pragma once

#include <optional>
#include <vector>

#include "expr/workload.h"

namespace aoe {

// A stage seen as products of matrices: for each outer point, out[row, column] is the sum over the
// depth of left[row, depth] * right[depth, column]. Convolutions, products of matrices and their
// gradients are of this form. Columns are the last axes, so that vectors lie along them.
struct Contraction {
  std::vector<size_t> outer;  // axes of the stage, without those of one position
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

// Axes, then more of them.
template <typename... More>
std::vector<size_t> joined(std::vector<size_t> axes, const More&... more) {
  (axes.insert(axes.end(), more.begin(), more.end()), ...);
  return axes;
}

std::optional<Contraction> contraction_of(const Stage& stage);

// What follows a sum of products may load this many other values.
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

// The access pattern of a load: its strides along rows, columns and depth, outermost first. Strides
// that can be merged are; there is none along an axis that the load does not depend on.
struct AccessPattern : LoadedMatrix {
  std::vector<Stride> rows;
  std::vector<Stride> columns;
  std::vector<Stride> depth;
};

// Nothing if the load may leave its tensor or is not affine.
std::optional<AccessPattern> access_pattern(const Workload& workload, const Stage& stage,
                                            const Contraction& contraction, const Expr& load);

// An access pattern with one stride each: the element lies at base + outer part + row * row_stride
// + column * column_stride + depth * depth_stride, rows, columns and depth each counted as one
// number.
struct MatrixLoad : LoadedMatrix {
  int64_t row_stride = 0;
  int64_t column_stride = 0;
  int64_t depth_stride = 0;
};

std::optional<MatrixLoad> matrix_load(const Workload& workload, const Stage& stage,
                                      const Contraction& contraction, const Expr& load);

// Whether an expression is made of weights and constants alone.
bool is_constant(const Workload& workload, const Expr& expr);

// The same computation with contractions made ready: padding is written out around what it pads,
// what is not laid out for products is brought into a layout that is, and what follows a product
// but is not seen row by row becomes a separate stage. `contracts` says for each stage of the
// result whether it is to run as products of matrices, `origins` which stage it comes from,
// `constant` whether it only lays out weights, and need run but once. `may` says which stages may
// run as products, `as_they_are` which are left alone.
struct RewrittenWorkload {
  Workload workload;
  std::vector<bool> contracts;
  std::vector<size_t> origins;
  std::vector<bool> constant;
};
RewrittenWorkload rewrite_contractions(const Workload& workload, const std::vector<bool>& may,
                                       const std::vector<bool>& as_they_are);

}  // namespace aoe

#pragma once

#include <vector>

#include "expr/workload.h"

namespace aoe {

// How a constant side of a contraction is prepacked, once, before the first run. It is first
// evaluated as plain matrices, one for each outer point that it depends on. Each becomes one or
// several matrices, linear combinations of its parts (Winograd: the taps; Strassen: the quarters),
// which are divided into panels:
//
//   [plain matrix][panel][sum][depth][width of the panel]
struct PackedWeights {
  size_t stage = 0;  // of the scheduled workload
  Expr side;
  std::vector<size_t> outer, rows, columns;  // axes of the stage; the matrix is rows x columns

  int64_t depth = 0, width = 0;                // size of a sum
  int64_t depth_stride = 0, width_stride = 1;  // strides in the plain matrix
  std::vector<int64_t> parts{0};               // offset of each part in the plain matrix
  std::vector<double> factors{1};              // [sum][part]
  int64_t panel = 0;            // width of the panels, the last one padded with zeros; 0: `uneven`
  std::vector<int64_t> uneven;  // first column of each panel, if widths differ; without padding

  int64_t sums() const { return static_cast<int64_t>(factors.size() / parts.size()); }
  // Packed elements of one plain matrix.
  int64_t elements() const;
};

// For each outer axis: number of plain matrices from one position to the next; 0 if the side does
// not depend on it.
std::vector<int64_t> outer_steps(const Stage& stage, const std::vector<size_t>& outer,
                                 const Expr& side);

// A workload with one stage, which computes the plain matrices; its inputs are the weights.
Workload plain_workload(const Workload& workload, const PackedWeights& packed);

// Packs all plain matrices, the result of that workload.
Tensor pack(const PackedWeights& packed, const Tensor& plain);

}  // namespace aoe

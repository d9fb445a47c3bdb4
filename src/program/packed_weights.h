#pragma once

#include <vector>

#include "expr/workload.h"

namespace aoe {

// Weights as products read them, made once, before the first run. A side of a contraction is first
// seen as plain matrices, one for each of the outer points that it depends on; of each, one or
// several matrices are made, as sums of its parts (Winograd: of the taps; Strassen: of the
// quarters), and cut into panels:
//
//   [plain matrix][panel][sum][depth][width of the panel]
struct PackedWeights {
  size_t stage = 0;  // of the scheduled workload
  Expr side;
  std::vector<size_t> outer, rows, columns;  // axes of the stage; the matrix is rows x columns

  int64_t depth = 0, width = 0;                // of a sum
  int64_t depth_stride = 0, width_stride = 1;  // in the plain matrix
  std::vector<int64_t> parts{0};               // where they begin in it
  std::vector<double> factors{1};              // for each sum, of each part
  int64_t panel = 0;            // width of the panels, of which the last is filled with zeros
  std::vector<int64_t> uneven;  // or where each begins, if they are only as wide as they have to be

  int64_t sums() const { return static_cast<int64_t>(factors.size() / parts.size()); }
  // Elements that are made of one plain matrix.
  int64_t elements() const;
};

// How many matrices lie between neighbours, for each of the outer axes.
std::vector<int64_t> outer_steps(const Stage& stage, const std::vector<size_t>& outer,
                                 const Expr& side);

// A workload with one stage, which computes the plain matrices of weights alone.
Workload plain_workload(const Workload& workload, const PackedWeights& packed);

Tensor pack(const PackedWeights& packed, const Tensor& plain);

}  // namespace aoe

#pragma once

#include <vector>

#include "codegen/tile.h"
#include "expr/workload.h"
#include "policy/contraction.h"

namespace aoe {

// A value of the workload as the matrix that a contraction loads it as.
struct Source {
  int value = -1;
  MatrixLoad load;
  int64_t bytes = 4;
};
Source source_of(const Workload& workload, const Stage& stage, const Contraction& contraction,
                 const Expr& load);

// What is made of a contraction's sums, as tiles have it: over arg(0) and loads numbered in the
// order of the sources.
struct ProductOperands {
  Expr result;
  std::vector<Tile::Operand> types;
  std::vector<Source> sources;

  ProductOperands(const Workload& workload, const Stage& stage, const Contraction& contraction);
};

}  // namespace aoe

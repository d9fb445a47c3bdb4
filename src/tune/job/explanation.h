#pragma once

#include <string>
#include <vector>

#include "measure/host/roofline.h"

namespace aoe {

// A decision in which a policy differs from the one that it replaced, and what reverting it costs.
struct DecisionLoss {
  std::string decision;       // "tile rows", or "item 2: tile rows" if there are several items
  std::string before, after;  // "8", "5"
  // Relative increase of the policy's time if this decision alone is reverted. Estimated from a few
  // runs, not proven.
  double loss = 0;
};

// Why a policy is faster than the one that it replaced.
struct Explanation {
  Roofline before, after;
  std::vector<DecisionLoss> decisions;  // the most important ones, largest loss first
};

// "64 % -> 81 % of peak; tile rows 8 -> 5 (7 %), block depth 300 -> 150 (3 %)".
std::string to_string(const Explanation& why);

}  // namespace aoe

#pragma once

#include <optional>
#include <string>
#include <vector>

#include "measure/host/roofline.h"

namespace aoe {

// A decision in which a policy differs from the one that it replaced, and what reverting it costs.
struct DecisionLoss {
  std::string decision;       // "tile rows", or "item 2: tile rows" if there are several items
  std::string before, after;  // "8", "5"
  // Relative increase of the policy's time if this decision alone is reverted. Estimated from a few
  // runs, not proven. Absent if it was not measured or may be noise.
  std::optional<double> loss = {};
  bool is_algorithm = false;  // another algorithm, with all else that a structure decides
};

// Why a policy is faster than the one that it replaced.
struct Explanation {
  Roofline before, after;
  // Another algorithm first, then the most important ones, largest loss first.
  std::vector<DecisionLoss> decisions;
};

// "64 % -> 81 % of peak; tile rows 8 -> 5 (7 %), block depth 300 -> 150 (3 %)".
std::string to_string(const Explanation& why);

}  // namespace aoe

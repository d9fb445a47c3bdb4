#pragma once

#include <string>
#include <vector>

#include "measure/host/roofline.h"

namespace aoe {

// A decision in which a policy differs from the one that it replaced.
struct DecisionLoss {
  std::string decision;       // "tile rows"; where there are several items, "item 2: tile rows"
  std::string before, after;  // "8", "5"
  // By how much longer the policy takes with this decision alone taken back, as a part of its time.
  // Seen in a few runs, not proven.
  double loss = 0;
};

// Why a policy is faster than the one that it replaced.
struct Explanation {
  Roofline before, after;
  std::vector<DecisionLoss> decisions;  // that matter most, the largest loss first
};

// "64 % -> 81 % of peak; tile rows 8 -> 5 (7 %), block depth 300 -> 150 (3 %)".
std::string to_string(const Explanation& why);

}  // namespace aoe

#pragma once

#include <functional>
#include <vector>

namespace aoe {

// A summand of a cost function that depends on a few variables. `of` takes an option for each of
// them, in their order, and returns infinity if the combination is impossible. It may be called
// repeatedly with the same options and should cache its results.
struct CostTerm {
  std::vector<int> variables;  // each once
  std::function<double(const std::vector<int>&)> of;
};

// Returns for each variable v the option, from 0 to options[v] - 1, that minimizes the sum of all
// terms; the smallest among equals. Exact where variables share terms with few others, as in
// chains, trees and chains with shortcuts. Variables that share terms with too many others first
// all get the same option, and are then changed one at a time while the cost decreases. The result
// is never worse than option 0 everywhere.
std::vector<int> least_cost(const std::vector<int>& options, const std::vector<CostTerm>& terms);

}  // namespace aoe

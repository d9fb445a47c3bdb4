#pragma once

#include <functional>
#include <vector>

namespace aoe {

// A part of a cost that depends on a few choices. `of` is asked for an option of each of its
// variables, in their order, and may be asked the same again: it should know what it has said. What
// cannot be is infinite.
struct CostTerm {
  std::vector<int> variables;  // each once
  std::function<double(const std::vector<int>&)> of;
};

// For each variable the option, of 0 to options[v] - 1, so that the sum of all terms is least.
// Exact where few terms meet at a time, as in chains, trees and chains with shortcuts. Variables
// that meet too many others at once are first all given the same option, and then changed one by
// one as long as that pays; all at option 0 is never better than what is chosen. Among equals the
// smallest option.
std::vector<int> least_cost(const std::vector<int>& options, const std::vector<CostTerm>& terms);

}  // namespace aoe

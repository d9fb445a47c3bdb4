#pragma once

#include <string>
#include <vector>

namespace aoe {

// A workload and a policy for it, as texts.
struct TransferSeed {
  std::string workload;
  std::string policy;

  bool operator==(const TransferSeed&) const = default;
};

// The text of a workload with its numbers replaced by 0: equal for all shapes of an operator.
std::string operator_text(const std::string& workload);
// A hash of that text, 16 hexadecimal digits, by which a bank finds the other shapes of an
// operator.
std::string family_of(const std::string& workload);

// The few policies in `known` of the same operator whose shapes are most similar, nearest first.
// Excludes the workload itself.
std::vector<TransferSeed> transfer_seeds(const std::string& workload,
                                         const std::vector<TransferSeed>& known);

}  // namespace aoe

#pragma once

#include <string>
#include <vector>

namespace aoe {

// A workload and a policy of it, as texts.
struct TransferSeed {
  std::string workload;
  std::string policy;

  bool operator==(const TransferSeed&) const = default;
};

// A workload's text without its sizes: what workloads of one operator have in common.
std::string operator_text(const std::string& workload);

// Those of the same operator with other shapes, the most similar ones first and not more than a
// few.
std::vector<TransferSeed> transfer_seeds(const std::string& workload,
                                         const std::vector<TransferSeed>& known);

}  // namespace aoe

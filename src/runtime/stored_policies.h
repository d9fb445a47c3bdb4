#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "codegen/kernel.h"

namespace aoe {

// Policies as a file has them, by the key of their workload. They may say anything: one that is not
// valid for its workload on the machine at hand is told of once, and the default takes its place.
// Any thread may call it.
class StoredPolicies {
 public:
  explicit StoredPolicies(std::map<uint64_t, std::string> texts) : texts_(std::move(texts)) {}

  // A kernel by the policy for the workload, or by the default one.
  std::shared_ptr<const Kernel> kernel(std::shared_ptr<const Workload> workload,
                                       const Device& device, std::vector<Tensor> weights) const;

 private:
  std::map<uint64_t, std::string> texts_;
  mutable std::mutex mutex_;
  mutable std::set<uint64_t> refused_;
};

}  // namespace aoe

#include "runtime/stored_policies.h"

#include "base/notice.h"
#include "policy/policy_text.h"

namespace aoe {

std::shared_ptr<const Kernel> StoredPolicies::kernel(std::shared_ptr<const Workload> workload,
                                                     const Device& device,
                                                     std::vector<Tensor> weights) const {
  const auto found = texts_.find(key_of(*workload));
  if (found != texts_.end()) {
    try {
      const Policy policy = parse_policy(found->second, *workload);
      return std::make_shared<const Kernel>(workload, policy, device, weights);
    } catch (const Error& error) {
      const std::lock_guard lock(mutex_);
      if (refused_.insert(found->first).second) {
        notice(
            fmt::format("workload {:016x} runs by the default policy, since the stored one is "
                        "not valid: {}",
                        found->first, error.what()));
      }
    }
  }
  return std::make_shared<const Kernel>(std::move(workload), device, std::move(weights));
}

}  // namespace aoe

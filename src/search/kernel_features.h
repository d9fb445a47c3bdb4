#pragma once

#include <string>
#include <vector>

#include "device/device.h"
#include "policy/schedule.h"

namespace aoe {

// Returns the features of a policy for the ranker: a fixed number of values in a fixed order
// (`feature_names`) that describe the policy, its workload and its device. Features of loops or
// products that the policy does not have are NaN. Sizes are log2, or relative to the device's, so
// that workloads are comparable. `schedule` is the one of the policy's structure.
std::vector<float> features_of(const Schedule& schedule, const Policy& policy,
                               const Device& device);

// The names of the features, in their order: "loop 1 lanes".
const std::vector<std::string>& feature_names();

}  // namespace aoe

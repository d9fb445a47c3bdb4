#pragma once

#include <string>
#include <vector>

#include "device/device.h"
#include "policy/schedule.h"

namespace aoe {

// What a ranker sees of a policy: a row of numbers, always as many and in the same order, that say
// what the policy makes of its workload on its device. Where a policy has nothing to say (a loop or
// a product that it does not have) the number is NaN. Sizes are logarithms to the base of two or
// parts of what the device has, so that one workload's numbers say something about another's.
// `schedule` is the one of the policy's structure. docs/tuning.md lists them.
std::vector<float> features_of(const Schedule& schedule, const Policy& policy,
                               const Device& device);

// What the numbers are called, in their order: "loop 1 lanes".
const std::vector<std::string>& feature_names();

}  // namespace aoe

#pragma once

#include <string>
#include <string_view>

#include "policy/schedule.h"

namespace aoe {

// A policy as short text, a line for each item: docs/policy.md says how it reads. Axes have the
// names that the loops of the schedule have, so the text belongs to a workload.
std::string to_string(const Policy& policy, const Schedule& schedule);
std::string to_string(const Policy& policy, const Workload& workload);

// The policy that a text says: the inverse of `to_string`. Texts may come from anywhere: what is
// wrong with one is an Error that says where and what is expected. The policy may still not be
// valid (policy/validate.h).
Policy parse_policy(std::string_view text, const Workload& workload);
// The same; a text without a line for any item leaves them all to the device's defaults.
Policy parse_policy(std::string_view text, const Workload& workload, const Device& device);

}  // namespace aoe

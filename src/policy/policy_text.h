#pragma once

#include <string>
#include <string_view>

#include "policy/schedule.h"

namespace aoe {

// Prints a policy as short text, a line for each item (docs/policy.md). Axes have their names in
// the loops of the schedule, so the text is specific to a workload.
std::string to_string(const Policy& policy, const Schedule& schedule);
std::string to_string(const Policy& policy, const Workload& workload);

// The class of algorithms that the policy with this text needs, whatever its workload is.
Numerics numerics_of(std::string_view policy_text);

// Parses a policy: the inverse of `to_string`. The text may be untrusted; a syntax error throws an
// Error with the place and what is expected there. The policy may still be invalid
// (policy/validate.h).
Policy parse_policy(std::string_view text, const Workload& workload);
// The same; if the text has no line for any item, all items get the device's defaults.
Policy parse_policy(std::string_view text, const Workload& workload, const Device& device);

}  // namespace aoe

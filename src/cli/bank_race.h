#pragma once

#include "bank/merge.h"

namespace aoe {

// Measures the two policies of a conflict against each other, outside of a model, on random inputs.
// Returns the entry of the policy that is better proven by now: if the other one is proven faster,
// that one, with this measurement as its gain over the first. Fails if this machine cannot run
// them; a workload whose contents only its model has stays as it is, with a notice.
BankEntry raced(const MergeReport::Conflict& conflict);

}  // namespace aoe

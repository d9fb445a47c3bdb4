#pragma once

#include "bank/merge.h"

namespace aoe {

// Measures the two policies of a conflict against each other, outside of a model, on random inputs,
// and prints which one is kept. If the less well proven one is proven faster, returns its entry,
// with this measurement as its gain over the other; else nullopt. Fails if this machine cannot run
// them; a workload whose contents only its model has stays as it is, with a notice.
std::optional<BankEntry> raced(const Conflict& conflict);

}  // namespace aoe

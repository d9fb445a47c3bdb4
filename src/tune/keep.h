#pragma once

#include <optional>
#include <string>

#include "bank/bank.h"

namespace aoe {

// Puts what a job has proven of something into the bank, once: a job that was killed right behind
// its writing finds what it had written. False, with a notice that names it, if another job has
// written something else than the incumbent meanwhile.
bool keep(Bank& bank, const BankEntry& entry, const std::optional<std::string>& incumbent,
          const std::string& name);

}  // namespace aoe

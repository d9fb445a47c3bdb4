#pragma once

#include <optional>
#include <string>

#include "bank/bank.h"
#include "base/time_text.h"

namespace aoe {

// What a job is, beside its model. A resumed job keeps it.
struct JobIdentity {
  std::string id;
  SystemTime began;
  std::string effort;
  bool repeat_tune = false;
  Target target;
  std::string processor;
};

// The bank's entry for what a job has proven of a workload, or of a graph by its name.
BankEntry entry_of(const JobIdentity& job, const std::string& workload, const std::string& policy,
                   const Gain& gain, const std::string& evidence, double elapsed_s);

// Puts what a job has proven of something into the bank, once: a job that was killed right behind
// its writing finds what it had written. False, with a notice that names it, if another job has
// written something else than the baseline meanwhile.
bool store(Bank& bank, const BankEntry& entry, const std::optional<std::string>& baseline,
           const std::string& name);

}  // namespace aoe

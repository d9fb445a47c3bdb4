#pragma once

#include <optional>
#include <string>

#include "bank/bank.h"
#include "base/time_text.h"

namespace aoe {

// Identity of a job, without its model. A resumed job keeps it.
struct JobIdentity {
  std::string id;
  SystemTime began;
  std::string effort;
  bool repeat_tune = false;
  Target target;
  std::string processor;
};

// The bank entry for a proven policy of a workload, or for the task times of a graph, whose name is
// `workload` then.
BankEntry entry_of(const JobIdentity& job, const std::string& workload, const std::string& policy,
                   const Gain& gain, const std::string& evidence, double elapsed_s);

// Stores an entry in the bank. Idempotent: a job that was killed right after storing it finds it on
// resume. Returns false, with a notice that has `name`, if another job has replaced the baseline
// meanwhile. `allowed` are the algorithms that the job may use for the workload.
bool store(Bank& bank, const BankEntry& entry, const std::optional<std::string>& baseline,
           Numerics allowed, const std::string& name);

}  // namespace aoe

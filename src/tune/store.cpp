#include "tune/store.h"

#include <fmt/format.h>

#include "base/notice.h"

namespace aoe {

BankEntry entry_of(const JobIdentity& job, const std::string& workload, const std::string& policy,
                   const Gain& gain, const std::string& evidence, double elapsed_s) {
  BankEntry entry;
  entry.workload = workload;
  entry.target = job.target;
  entry.policy = policy;
  entry.gain = gain;
  entry.evidence = {evidence};
  entry.processor = job.processor;
  entry.date = utc_text(job.began + std::chrono::seconds(static_cast<int64_t>(elapsed_s)));
  entry.effort = job.effort;
  return entry;
}

bool store(Bank& bank, const BankEntry& entry, const std::optional<std::string>& baseline,
           Numerics allowed, const std::string& name) {
  const LookupResult before = bank.find({entry.workload}, entry.target, allowed)[0];
  if (before.entry && *before.entry == entry) return true;
  if (bank.put(entry, baseline, allowed)) return true;
  notice(
      fmt::format("{}: another job has written to the bank meanwhile; what it wrote stays", name));
  return false;
}

}  // namespace aoe

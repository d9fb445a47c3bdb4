#pragma once

#include <optional>
#include <string>
#include <vector>

#include "bank/bank.h"
#include "base/time_text.h"
#include "measure/worker/worker_client.h"

namespace aoe {

// Identity of a job, without its model. A resumed job keeps it.
struct JobIdentity {
  std::string id;
  SystemTime began;
  std::string effort;
  bool repeat_tune = false;
  Target target;
  std::string processor;
  std::string fingerprint;
};

// What the banks know of a workload or graph when a job begins.
struct KnownInBank {
  // The policy of a custom bank.
  std::optional<std::string> policy = {};
  // The model does not run by `policy`, because it is not valid here. It is replaced by a policy
  // that is proven faster than what the model runs by.
  bool is_invalid = false;
  // The policy is from another version of the product or from a processor that differs (its
  // fingerprint): it is tuned again, with itself as the baseline.
  bool is_aged = false;
  // Tuned without gain, by a job of no lower effort that could choose among the same algorithms.
  bool is_remembered = false;
  // The policy that the model runs by, if a bank has it: also the built-in one; and the lower bound
  // of its speed-up over the default.
  std::optional<std::string> baseline = {};
  double baseline_low = 1;

  bool is_in_bank() const { return policy.has_value() && !is_invalid; }
};

// A workload or graph to look up, with the class of algorithms that may be used for it.
struct WantedEntry {
  std::string workload;
  Numerics allowed = Numerics::strassen;
};

// Whether a workload of an opened model runs by this policy of a bank; not if it is not valid.
bool runs_by(const OpenWorkload& opened, const std::string& policy);

// Looks workloads up in the layers of banks. Problems with banks that are only read are notices.
std::vector<KnownInBank> known_in_banks(const BankPlaces& places, BankKind kind,
                                        const std::vector<WantedEntry>& wanted,
                                        const JobIdentity& job);

// Converts what banks know to text for the journal, and back.
std::string to_json_text(const std::vector<KnownInBank>& known);
std::vector<KnownInBank> parse_known_in_bank(const std::string& text);

// All policies that the banks have for other shapes of the operators of these workloads.
std::vector<TransferSeed> seeds_in_banks(const BankPlaces& places,
                                         const std::vector<std::string>& workloads,
                                         const Target& target);

// An entry with the provenance of a job that has run for `elapsed_s`. Its policy, gain and names
// are the caller's.
BankEntry entry_of(const JobIdentity& job, const WantedEntry& workload, const std::string& evidence,
                   double elapsed_s);

// The entry of an aged policy, as a job makes it that found none faster: the same policy and
// figures, with the version, processor, date and evidence of the job, so that the next job does not
// search again. Nothing if no custom bank has the policy any more.
std::optional<BankEntry> rejuvenated(const BankPlaces& places, BankKind kind,
                                     const std::string& policy, const BankEntry& by_job);

// Stores an entry in the bank. Idempotent: a job that was killed right after storing it finds it on
// resume. Returns false, with a notice that has `name`, if another job has replaced the baseline
// meanwhile.
bool store(Bank& bank, const BankEntry& entry, const std::optional<std::string>& baseline,
           const std::string& name);

}  // namespace aoe

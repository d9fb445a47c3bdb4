#include "tune/store.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "bank/join.h"
#include "base/error.h"
#include "base/notice.h"
#include "expr/parse.h"
#include "policy/policy_text.h"

namespace aoe {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

// Calls `use` with each bank that exists, in order. A bank that cannot be read is a notice.
template <typename Use>
void for_each_bank(const std::vector<fs::path>& files, const std::string& soc_version,
                   const Use& use) {
  for (const fs::path& file : files) {
    try {
      const std::optional<Bank> bank = Bank::for_reading(file);
      if (!bank) continue;
      require(bank->soc_version() == soc_version, "bank '{}' is for {}, this is {}", file.string(),
              bank->soc_version(), soc_version);
      use(*bank);
    } catch (const Error& error) {
      notice(fmt::format("{}: it is not used", error.what()));
    }
  }
}

void add(KnownInBank& known, const LookupResult& found, const JobIdentity& job, bool is_custom) {
  for (const BankEntry& tried : found.no_gain) {
    known.is_remembered |=
        is_custom && is_no_higher(job.effort, tried.effort) && !tried.is_aged(job.fingerprint);
  }
  if (!found.entry || known.baseline) return;
  const BankEntry& entry = *found.entry;
  known.baseline = entry.policy;
  known.baseline_low = entry.total_low;
  if (!is_custom) return;
  known.policy = entry.policy;
  known.is_aged = entry.is_aged(job.fingerprint);
}

}  // namespace

bool runs_by(const OpenWorkload& opened, const std::string& policy) {
  try {
    const Workload workload = parse_workload(opened.text);
    // Texts of earlier versions leave out decisions that have their defaults.
    return to_string(parse_policy(policy, workload), workload) == opened.policy;
  } catch (const Error&) {
    return false;
  }
}

std::vector<KnownInBank> known_in_banks(const BankPlaces& places, BankKind kind,
                                        const std::vector<WantedEntry>& wanted,
                                        const JobIdentity& job) {
  std::vector<KnownInBank> known(wanted.size());
  const std::vector<fs::path> custom = places.read_custom(kind);
  for_each_bank(places.read(kind), job.target.soc_version, [&](const Bank& bank) {
    const bool is_custom = std::ranges::find(custom, bank.file()) != custom.end();
    for (size_t i = 0; i < wanted.size(); ++i) {
      const auto& [workload, allowed] = wanted[i];
      const LookupResult found = bank.find({workload}, job.target, allowed)[0];
      for (const std::string& problem : found.problems) notice(problem);
      add(known[i], found, job, is_custom);
    }
  });
  return known;
}

std::string to_json_text(const std::vector<KnownInBank>& known) {
  Json list = Json::array();
  for (const KnownInBank& one : known) {
    Json entry{{"aged", one.is_aged}, {"remembered", one.is_remembered}, {"low", one.baseline_low}};
    if (one.policy) entry["policy"] = *one.policy;
    if (one.baseline) entry["baseline"] = *one.baseline;
    list.push_back(std::move(entry));
  }
  return list.dump();
}

std::vector<KnownInBank> parse_known_in_bank(const std::string& text) {
  std::vector<KnownInBank> known;
  for (const Json& entry : Json::parse(text)) {
    KnownInBank& one = known.emplace_back();
    one.is_aged = entry.at("aged");
    one.is_remembered = entry.at("remembered");
    one.baseline_low = entry.at("low");
    if (entry.contains("policy")) one.policy = entry.at("policy").get<std::string>();
    if (entry.contains("baseline")) one.baseline = entry.at("baseline").get<std::string>();
  }
  return known;
}

std::vector<TransferSeed> seeds_in_banks(const BankPlaces& places,
                                         const std::vector<std::string>& workloads,
                                         const Target& target) {
  std::vector<TransferSeed> seeds;
  const auto add_seeds = [&](const Bank& bank) {
    for (TransferSeed& seed : bank.other_shapes(workloads, target)) {
      seeds.push_back(std::move(seed));
    }
  };
  for_each_bank(places.read(BankKind::operators), target.soc_version, add_seeds);
  return seeds;
}

BankEntry entry_of(const JobIdentity& job, const WantedEntry& workload, const std::string& evidence,
                   double elapsed_s) {
  BankEntry entry;
  entry.workload = workload.workload;
  entry.target = job.target;
  entry.allowed = workload.allowed;
  entry.evidence = {evidence};
  entry.processor = job.processor;
  entry.fingerprint = job.fingerprint;
  entry.date = utc_text(job.began + std::chrono::seconds(static_cast<int64_t>(elapsed_s)));
  entry.effort = job.effort;
  return entry;
}

std::optional<BankEntry> rejuvenated(const BankPlaces& places, BankKind kind,
                                     const std::string& policy, const BankEntry& by_job) {
  std::optional<BankEntry> entry;
  for_each_bank(places.read_custom(kind), by_job.target.soc_version, [&](const Bank& bank) {
    if (entry) return;
    entry = bank.find({by_job.workload}, by_job.target, by_job.allowed)[0].entry;
    if (entry && entry->policy != policy) entry.reset();
  });
  if (!entry) return std::nullopt;
  entry->allowed = by_job.allowed;
  entry->processor = by_job.processor;
  entry->fingerprint = by_job.fingerprint;
  entry->product_version = by_job.product_version;
  entry->date = by_job.date;
  entry->evidence.insert(by_job.evidence.begin(), by_job.evidence.end());
  return entry;
}

bool store(Bank& bank, const BankEntry& entry, const std::optional<std::string>& baseline,
           const std::string& name) {
  const LookupResult before = bank.find({entry.workload}, entry.target, entry.allowed)[0];
  const bool is_stored = before.entry && before.entry->policy == entry.policy &&
                         std::ranges::includes(before.entry->evidence, entry.evidence);
  if (is_stored || bank.put(entry, baseline)) return true;
  notice(
      fmt::format("{}: another job has written to the bank meanwhile; what it wrote stays", name));
  return false;
}

}  // namespace aoe

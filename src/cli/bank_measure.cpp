#include "cli/bank_commands.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <nlohmann/json.hpp>

#include "bank/places.h"
#include "base/error.h"
#include "base/notice.h"
#include "cli/model_options.h"
#include "cli/progress.h"
#include "cli/words.h"
#include "device/cores.h"
#include "device/device.h"
#include "measure/host/device_lock.h"
#include "runtime/stored_policies.h"
#include "tune/job/claims.h"
#include "tune/runner/worker_runner.h"
#include "tune/store.h"

namespace aoe {
namespace {

struct MeasureOptions {
  std::string model;
  std::string input_shape;
  int threads = 0;
  ImplMode impl;
  bool json = false;
  bool dry_run = false;
};

struct Measured {
  std::vector<OpenWorkload> workloads;
  std::vector<LookupResult> entries;  // by workload
  std::vector<Claim> claims;
};

// The custom banks that a load of the model would use.
std::vector<Bank> custom_banks(const BankPlaces& places) {
  std::vector<Bank> banks;
  for (const auto& file : places.read_custom(BankKind::operators)) {
    try {
      if (std::optional<Bank> bank = Bank::for_reading(file)) banks.push_back(std::move(*bank));
    } catch (const Error& error) {
      notice(fmt::format("{}: it is not used", error.what()));
    }
  }
  require(!banks.empty(), "there is no bank '{}' whose claims could be measured; tuning makes it",
          places.written(BankKind::operators).string());
  return banks;
}

// "; it has some on 1 thread (--threads 1)"
std::string other_threads(const std::vector<Bank>& banks, const std::vector<std::string>& texts) {
  for (const Bank& bank : banks) {
    for (const StoredEntry& stored : bank.entries()) {
      if (stored.state != StoredEntry::State::good) continue;
      if (std::find(texts.begin(), texts.end(), stored.entry.workload) == texts.end()) continue;
      return fmt::format("; it has some on {} (--threads {})",
                         count_text(stored.entry.target.threads, "thread"),
                         stored.entry.target.threads);
    }
  }
  return "";
}

// What the first bank that has a policy for the workload says of it.
LookupResult entry_in(const std::vector<Bank>& banks, const OpenWorkload& workload,
                      const Target& target) {
  LookupResult found;
  for (const Bank& bank : banks) {
    found = bank.find({workload.text}, target, workload.numerics)[0];
    for (const std::string& problem : found.problems) notice(problem);
    if (!found.entry) continue;
    if (runs_by(workload, found.entry->policy)) return found;
    // Another policy would be measured.
    notice(fmt::format(
        "bank '{}': the model does not run by its policy for {}, which is not measured; 'aoe bank "
        "check' says whether it is valid",
        bank.file().string(), name_of(workload)));
    return {};
  }
  return {};
}

Measured measured(const MeasureOptions& options, const BankPlaces& places, const Device& device) {
  const std::vector<Bank> banks = custom_banks(places);
  const DeviceLock lock(0);
  WorkerRunnerOptions workers;
  workers.target.model = options.model;
  workers.target.input_shapes = parse_shapes(options.input_shape);
  workers.target.threads = options.threads > 0 ? options.threads : usable_cores();
  workers.target.impl = options.impl;
  workers.device = device;
  workers.refuse_spills = false;  // replaced policies are measured even if they spill
  const int threads = workers.target.threads;
  Progress progress;
  progress.begin(fmt::format("opening {}", options.model));
  const std::unique_ptr<Runner> runner = worker_runner(std::move(workers));
  const OpenedModel opened = runner->open();
  std::vector<std::string> texts;
  std::vector<LookupResult> entries;
  for (const OpenWorkload& one : opened.workloads) {
    texts.push_back(one.text);
    entries.push_back(entry_in(banks, one, target_of(device, threads)));
  }
  require(std::any_of(entries.begin(), entries.end(),
                      [](const LookupResult& one) { return one.entry.has_value(); }),
          "bank '{}' has no policy for this model on {}{}", banks[0].file().string(),
          count_text(threads, "thread"), other_threads(banks, texts));
  progress.begin("measuring what the bank claims");
  std::vector<Claim> claims = measured_claims(*runner, opened, entries, device,
                                              [&](double share) { progress.update(share); });
  return {opened.workloads, std::move(entries), std::move(claims)};
}

const char* verdict(const Claim& claim) {
  if (claim.failure) return "not measured";
  if (claim.is_slower()) return "slower";
  return claim.is_covered() ? "holds" : "differs";
}

void print(const Measured& measured) {
  for (const Claim& claim : measured.claims) {
    const Gain& was = claim.claimed;
    const std::string name = name_of(measured.workloads[static_cast<size_t>(claim.workload)]);
    if (claim.failure) {
      fmt::print("{:<12}  the policy that it replaced fails: {}, {}  {}\n", verdict(claim),
                 aoe::name(claim.failure->cause), claim.failure->detail, name);
      continue;
    }
    fmt::print("{:<12}  claimed {:.3f} ({:.3f} to {:.3f})  now {:.3f} ({:.3f} to {:.3f})  {}\n",
               verdict(claim), was.before_ns / was.after_ns, was.speedup_low, was.speedup_high,
               claim.now.median, claim.now.low, claim.now.high, name);
  }
}

void print_json(const Measured& measured) {
  nlohmann::ordered_json all = nlohmann::ordered_json::array();
  for (const Claim& claim : measured.claims) {
    const OpenWorkload& workload = measured.workloads[static_cast<size_t>(claim.workload)];
    all.push_back({{"name", name_of(workload)},
                   {"key", key_text(workload.text)},
                   {"verdict", verdict(claim)},
                   {"claimed", claim.claimed.before_ns / claim.claimed.after_ns},
                   {"claimed_low", claim.claimed.speedup_low},
                   {"claimed_high", claim.claimed.speedup_high},
                   {"now", claim.now.median},
                   {"now_low", claim.now.low},
                   {"now_high", claim.now.high}});
  }
  fmt::print("{}\n", all.dump(2, ' ', false, nlohmann::json::error_handler_t::replace));
}

// Entries of another version or processor whose policies are faster here too get this version,
// processor and date: they are no longer aged. Returns how many.
int64_t refresh(const Measured& found, const BankPlaces& places, const Device& device) {
  JobIdentity now;
  now.began = std::chrono::system_clock::now();
  now.processor = device.processor;
  now.fingerprint = device.fingerprint;
  int64_t refreshed = 0;
  for (const Claim& claim : found.claims) {
    const auto at = static_cast<size_t>(claim.workload);
    const BankEntry& entry = *found.entries[at].entry;
    if (!entry.is_aged(device.fingerprint) || !claim.is_faster()) continue;
    now.target = entry.target;
    BankEntry by_now = entry_of(now, {entry.workload, entry.allowed}, "", 0);
    by_now.evidence.clear();  // the entry keeps its figures, and so what they rest on
    auto kept = rejuvenated(places, BankKind::operators, entry.policy, by_now);
    if (!kept) continue;
    Bank into = Bank::for_writing(places, BankKind::operators, device.soc_version());
    refreshed += into.put(*kept, entry.policy) ? 1 : 0;
  }
  return refreshed;
}

void measure(const MeasureOptions& options) {
  const Device& device = host_device();
  const BankPlaces places = bank_places(device.soc_version());
  const std::filesystem::path file = custom_bank(BankKind::operators, device.soc_version());
  const Measured found = measured(options, places, device);
  const int64_t refreshed = options.dry_run ? 0 : refresh(found, places, device);
  if (options.json) print_json(found);
  else print(found);
  int64_t covered = 0;
  int64_t slower = 0;
  for (const Claim& claim : found.claims) {
    covered += claim.is_covered() ? 1 : 0;
    slower += claim.is_slower() ? 1 : 0;
  }
  if (!options.json) {
    fmt::print("{} of {} hold; bank '{}'\n", covered,
               count_text(static_cast<int64_t>(found.claims.size()), "claim"), file.string());
    if (refreshed > 0) {
      fmt::print("{} of another version or processor checked, no longer aged\n",
                 count_text(refreshed, "policy"));
    }
  }
  require(slower == 0,
          "{} proven slower than what it replaced on this machine now; tune again with "
          "REPEAT_TUNE=True",
          count_text(slower, "policy"));
}

}  // namespace

void add_bank_measure_command(CLI::App& bank) {
  auto options = std::make_shared<MeasureOptions>();
  CLI::App* command =
      bank.add_subcommand("measure", "Measure again what it claims for the operators of a model");
  command->add_option("model", options->model, "The model")->required();
  command->add_option("--input_shape", options->input_shape,
                      "Sizes of symbolic dimensions: \"a:1,3,224,224;b:2\"");
  command->add_option("--threads", options->threads, "Of the model; 0: all cores")
      ->check(CLI::Range(0, 1024));
  add_impl_options(*command, options->impl);
  command->add_flag("--dry-run", options->dry_run, "Leave aged entries as they are");
  command->add_flag("--json", options->json, "Print JSON");
  command->callback([options] { measure(*options); });
}

}  // namespace aoe

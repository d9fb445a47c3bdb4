#include "cli/bank_commands.h"

#include <fmt/format.h>

#include <algorithm>
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

namespace aoe {
namespace {

struct MeasureOptions {
  std::string model;
  std::string input_shape;
  int threads = 0;
  ImplMode impl;
  bool json = false;
};

struct Measured {
  std::vector<OpenWorkload> workloads;
  std::vector<Claim> claims;
};

// "; it has some on 1 thread (--threads 1)"
std::string other_threads(const Bank& bank, const std::vector<std::string>& texts) {
  for (const StoredEntry& stored : bank.entries()) {
    if (stored.state != StoredEntry::State::good) continue;
    if (std::find(texts.begin(), texts.end(), stored.entry.workload) == texts.end()) continue;
    return fmt::format("; it has some on {} (--threads {})",
                       count_text(stored.entry.target.threads, "thread"),
                       stored.entry.target.threads);
  }
  return "";
}

Measured measured(const MeasureOptions& options, const std::filesystem::path& file,
                  const Device& device) {
  const std::optional<Bank> bank = Bank::for_reading(file);
  require(bank.has_value(), "there is no bank '{}' whose claims could be measured; tuning makes it",
          file.string());
  const DeviceLock lock(0);
  WorkerRunnerOptions workers;
  workers.target.model = options.model;
  workers.target.input_shapes = parse_shapes(options.input_shape);
  workers.target.threads = options.threads > 0 ? options.threads : usable_cores();
  workers.target.impl = options.impl;
  workers.device = device;
  workers.refuse_spills = false;  // default policies are measured even if they spill
  const int threads = workers.target.threads;
  Progress progress;
  progress.begin(fmt::format("opening {}", options.model));
  const std::unique_ptr<Runner> runner = worker_runner(std::move(workers));
  const OpenedModel opened = runner->open();
  std::vector<std::string> texts;
  std::vector<LookupResult> entries;
  for (const OpenWorkload& one : opened.workloads) {
    texts.push_back(one.text);
    entries.push_back(bank->find({one.text}, target_of(device, threads), one.numerics)[0]);
  }
  for (size_t i = 0; i < entries.size(); ++i) {
    for (const std::string& problem : entries[i].problems) notice(problem);
    // Otherwise the default would be measured against itself.
    require(!entries[i].entry || entries[i].entry->policy == opened.workloads[i].policy,
            "bank '{}': the model does not run by its policy for {}; 'aoe bank check' says whether "
            "it is valid",
            file.string(), name_of(opened.workloads[i]));
  }
  require(std::any_of(entries.begin(), entries.end(),
                      [](const LookupResult& one) { return one.entry.has_value(); }),
          "bank '{}' has no policy for this model on {}{}", file.string(),
          count_text(threads, "thread"), other_threads(*bank, texts));
  progress.begin("measuring what the bank claims");
  return {opened.workloads, measured_claims(*runner, opened, entries, device,
                                            [&](double share) { progress.update(share); })};
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
      fmt::print("{:<12}  the default policy fails: {}, {}  {}\n", verdict(claim),
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

void measure(const MeasureOptions& options) {
  const Device& device = host_device();
  const std::filesystem::path file = custom_bank(BankKind::operators, device.soc_version());
  const Measured found = measured(options, file, device);
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
  }
  require(slower == 0,
          "{} proven slower than the default on this machine now; tune again with REPEAT_TUNE=True",
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
  command->add_flag("--json", options->json, "Print JSON");
  command->callback([options] { measure(*options); });
}

}  // namespace aoe

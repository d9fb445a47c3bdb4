#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "bank/bank.h"
#include "bank/entry_json.h"
#include "bank/places.h"
#include "base/error.h"
#include "base/notice.h"
#include "base/utf8.h"
#include "cli/bank_measure.h"
#include "cli/commands.h"
#include "cli/words.h"
#include "device/device.h"

namespace aoe {
namespace {

using Json = nlohmann::ordered_json;

struct BankOptions {
  std::string file;
  std::string key;
  bool json = false;
};

// The bank that --bank names, or the one that loading a model looks up.
std::filesystem::path file_of(const BankOptions& options) {
  if (!options.file.empty()) return options.file;
  return custom_bank(BankKind::operators, host_device().soc_version());
}

std::vector<StoredEntry> entries_of(const std::optional<Bank>& bank) {
  return bank ? bank->entries() : std::vector<StoredEntry>();
}

std::optional<Bank> opened(const std::filesystem::path& file) {
  require(std::filesystem::exists(file),
          "there is no bank '{}'; tuning makes it, and --bank names another", file.string());
  return Bank::for_reading(file);
}

std::string speedup_text(const BankEntry& entry) {
  return fmt::format("{:.3f} times as fast ({:.3f} to {:.3f})",
                     entry.gain.before_ns / entry.gain.after_ns, entry.gain.speedup_low,
                     entry.gain.speedup_high);
}

Json json_of(const StoredEntry& stored) {
  constexpr std::array kStates{"good", "newer", "foreign", "damaged"};
  Json json{{"id", stored.id}, {"state", kStates[static_cast<size_t>(stored.state)]}};
  json.update(json_of(stored.entry));
  return json;
}

std::string printable_lines(std::string_view text) {
  std::string shown;
  for (size_t at = 0; at <= text.size();) {
    const size_t end = std::min(text.find('\n', at), text.size());
    shown += (at == 0 ? "" : "\n") + printable(text.substr(at, end - at));
    at = end + 1;
  }
  return shown;
}

void print_json(const Json& json) {
  // Damaged entries may have any bytes.
  fmt::print("{}\n", json.dump(2, ' ', false, Json::error_handler_t::replace));
}

void list(const BankOptions& options) {
  const std::filesystem::path file = file_of(options);
  const std::optional<Bank> bank = opened(file);
  const std::vector<StoredEntry> entries = entries_of(bank);
  if (options.json) {
    Json all{{"bank", file.string()}, {"soc_version", nullptr}, {"entries", Json::array()}};
    if (bank) all["soc_version"] = bank->soc_version();
    for (const StoredEntry& stored : entries) all["entries"].push_back(json_of(stored));
    print_json(all);
    return;
  }
  int64_t graphs = 0;
  for (const StoredEntry& stored : entries) {
    const auto& [soc_version, instruction_set, threads] = stored.entry.target;
    if (stored.state != StoredEntry::State::good) {
      notice(stored.problem);
      continue;
    }
    fmt::print("{}  {:<6}  {:>10}  {:<8}  {:>10}  {}  {}{}\n", key_text(stored.entry.workload),
               printable(instruction_set), count_text(threads, "thread"),
               name(stored.entry.numerics()), duration_text(stored.entry.gain.after_ns),
               speedup_text(stored.entry), printable(stored.entry.date),
               (stored.entry.kind() == EntryKind::layouts) ? "  layouts of a model" : "");
    graphs += (stored.entry.kind() == EntryKind::layouts) ? 1 : 0;
  }
  fmt::print("{}{} in bank '{}'{}\n",
             count_text(static_cast<int64_t>(entries.size()) - graphs, "policy"),
             graphs == 0 ? "" : " and the layouts of " + count_text(graphs, "model"), file.string(),
             bank ? fmt::format(" for {}", printable(bank->soc_version())) : "");
}

void show(const BankOptions& options) {
  const std::filesystem::path file = file_of(options);
  Json found = Json::array();
  for (const StoredEntry& stored : entries_of(opened(file))) {
    if (!key_text(stored.entry.workload).starts_with(options.key)) continue;
    found.push_back(json_of(stored));
    if (options.json) continue;
    const BankEntry& entry = stored.entry;
    if (found.size() > 1) fmt::print("\n");
    if (!stored.problem.empty()) notice(stored.problem);
    const auto row = [](std::string_view label, std::string_view text) {
      fmt::print("{:<12} {}\n", label, printable(text));
    };
    row("key", key_text(entry.workload));
    row("for", fmt::format("{} with {}, {}", entry.target.soc_version, entry.target.instruction_set,
                           count_text(entry.target.threads, "thread")));
    row("algorithms", name(entry.numerics()));
    row("time", fmt::format("{}, before {}: {}", duration_text(entry.gain.after_ns),
                            duration_text(entry.gain.before_ns), speedup_text(entry)));
    row("evidence",
        fmt::format("{} in {}; A/A noise floor {:.1f} %", count_text(entry.gain.samples, "sample"),
                    count_text(static_cast<int64_t>(entry.evidence.size()), "measurement"),
                    100 * (entry.gain.noise_floor - 1)));
    row("made", fmt::format("{} by version {} on {}, effort {}", entry.date, entry.product_version,
                            entry.processor, entry.effort));
    fmt::print("\n{}\n\n{}\n", printable_lines(entry.workload), printable_lines(entry.policy));
  }
  require(!found.empty(), "bank '{}' has no policy for a workload '{}'; aoe bank ls lists them",
          file.string(), options.key);
  if (options.json) print_json(found);
}

void check(const BankOptions& options) {
  const std::filesystem::path file = file_of(options);
  const std::optional<Bank> bank = opened(file);
  const std::vector<std::string> problems = bank ? problems_of(*bank) : std::vector<std::string>();
  int64_t unused = 0;
  const std::vector<StoredEntry> entries =
      problems.empty() ? entries_of(bank) : std::vector<StoredEntry>();
  for (const StoredEntry& stored : entries) {
    unused += stored.state == StoredEntry::State::good ? 0 : 1;
  }
  if (options.json) {
    print_json({{"bank", file.string()},
                {"entries", entries.size()},
                {"unused", unused},
                {"problems", problems}});
  } else {
    for (const std::string& problem : problems) fmt::print("{}\n", printable(problem));
  }
  const auto count = [](size_t number, std::string_view thing) {
    return count_text(static_cast<int64_t>(number), thing);
  };
  require(problems.empty(), "bank '{}' has {}", file.string(), count(problems.size(), "problem"));
  if (options.json) return;
  fmt::print("bank '{}' is valid: {}{}\n", file.string(), count(entries.size(), "entry"),
             unused == 0 ? "" : fmt::format(", {} of them newer or foreign", unused));
}

}  // namespace

void add_bank_command(CLI::App& app) {
  auto options = std::make_shared<BankOptions>();
  CLI::App* command = app.add_subcommand("bank", "Look into a bank of tuned policies");
  command->require_subcommand(0, 1);
  command->callback([command] {
    require(!command->get_subcommands().empty(),
            "aoe bank: check, ls, show or measure is expected; see aoe bank --help");
  });
  const auto add = [&](const char* name, const char* what, void (*act)(const BankOptions&)) {
    CLI::App* added = command->add_subcommand(name, what);
    added->add_option("--bank", options->file, "The bank's file; without, this machine's");
    added->add_flag("--json", options->json, "Print JSON");
    added->callback([options, act] { act(*options); });
    return added;
  };
  add("check", "Verify the bank", check);
  add("ls", "List its policies", list);
  add("show", "Show the entries of a workload", show)
      ->add_option("key", options->key, "The workload's key, or the beginning of it")
      ->required();
  add_bank_measure_command(*command);
}

}  // namespace aoe

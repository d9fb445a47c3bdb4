#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

#include "bank/entry_json.h"
#include "bank/listing.h"
#include "bank/places.h"
#include "base/error.h"
#include "base/notice.h"
#include "base/utf8.h"
#include "cli/bank_commands.h"
#include "cli/bank_files.h"
#include "cli/words.h"
#include "device/device.h"

namespace aoe {
namespace {

using Json = nlohmann::ordered_json;

constexpr int64_t kPage = 50;

const std::map<std::string, ListingOptions::Sort> kSorts{{"gain", ListingOptions::Sort::gain},
                                                         {"time", ListingOptions::Sort::time},
                                                         {"date", ListingOptions::Sort::date},
                                                         {"id", ListingOptions::Sort::id}};

struct ListOptions : BankOptions {
  ListingOptions listing{.limit = kPage};
  std::string sort = "gain";
};

void print_row(const BankEntry& entry) {
  const auto& [soc_version, instruction_set, threads] = entry.target;
  std::string marks;
  if (entry.kind() == EntryKind::layouts) marks += "  layouts of a model";
  if (is_aged_here(entry)) marks += fmt::format("  aged: by version {}", entry.product_version);
  fmt::print("{}  {}  {:<6}  {:>10}  {:<8}  {:>10}  {}  {}  {}{}\n", key_text(entry.workload),
             printable(title_of(entry)), printable(instruction_set), count_text(threads, "thread"),
             name(entry.policy.empty() ? entry.allowed : entry.numerics()),
             entry.policy.empty() ? "" : duration_text(entry.gain.after_ns), gain_text(entry),
             printable(entry.mode), printable(entry.date), printable(marks));
}

void list(const ListOptions& options) {
  const std::filesystem::path file = file_of(options);
  const std::optional<Bank> bank = opened_bank(file);
  ListingOptions wanted = options.listing;
  wanted.sort = kSorts.at(options.sort);
  const Listing found = bank ? list_entries(*bank, wanted) : Listing{};
  const std::string soc_version = bank ? bank->soc_version() : "";
  if (options.json) {
    Json all{{"bank", file.string()}, {"soc_version", nullptr}, {"total", found.total}};
    if (bank) all["soc_version"] = soc_version;
    all["entries"] = Json::array();
    for (const StoredEntry& stored : found.page) all["entries"].push_back(json_of(stored));
    print_json(all);
    return;
  }
  for (const StoredEntry& stored : found.page) {
    if (stored.is_good()) print_row(stored.entry);
    else notice(stored.problem);
  }
  const auto shown = static_cast<int64_t>(found.page.size());
  fmt::print("{} in bank '{}'{}\n",
             shown == found.total ? count_text(found.total, "entry")
                                  : fmt::format("{} of {} (--limit, --offset)", shown,
                                                count_text(found.total, "entry")),
             file.string(), bank ? fmt::format(" for {}", printable(soc_version)) : "");
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

void print_entry(const BankEntry& entry) {
  const auto row = [](std::string_view label, std::string_view text) {
    if (!text.empty()) fmt::print("{:<12} {}\n", label, printable(text));
  };
  row("key", key_text(entry.workload));
  row("names", fmt::format("{}", fmt::join(entry.names, " ")));
  row("types", fmt::format("{}", fmt::join(entry.types, " ")));
  row("for", fmt::format("{} with {}, {}", entry.target.soc_version, entry.target.instruction_set,
                         count_text(entry.target.threads, "thread")));
  row("algorithms",
      fmt::format("{}; up to {} were allowed", name(entry.numerics()), name(entry.allowed)));
  if (entry.kind() == EntryKind::no_gain) {
    row("result", gain_text(entry));
  } else {
    row("time", fmt::format("{}, before {}: {}", duration_text(entry.gain.after_ns),
                            duration_text(entry.gain.before_ns), gain_text(entry)));
    row("in all", fmt::format("at least {:.3f} times as fast as the default", entry.total_low));
    row("changed", entry.mode);
    row("evidence",
        fmt::format("{} in {}; A/A noise floor {:.1f} %", count_text(entry.gain.samples, "sample"),
                    count_text(static_cast<int64_t>(entry.evidence.size()), "measurement"),
                    100 * (entry.gain.noise_floor - 1)));
  }
  row("made",
      fmt::format("{} by version {} on {}{}, effort {}{}", entry.date, entry.product_version,
                  entry.processor, entry.fingerprint.empty() ? "" : " (" + entry.fingerprint + ")",
                  entry.effort, is_aged_here(entry) ? "; aged" : ""));
  const auto section = [](std::string_view title, std::string_view text) {
    if (!text.empty()) fmt::print("\n{}\n{}\n", title, printable_lines(text));
  };
  section(entry.kind() == EntryKind::layouts ? "graph" : "workload", entry.workload);
  section(entry.kind() == EntryKind::layouts ? "times" : "policy", entry.policy);
  section("proven against", entry.baseline);
}

void show(const BankOptions& options, const std::string& text) {
  // Without --bank, both banks of this machine.
  std::vector<std::filesystem::path> files{file_of(options)};
  if (options.file.empty() && !options.graphs) {
    const std::filesystem::path graphs = custom_bank(BankKind::graphs, host_device().soc_version());
    if (!std::filesystem::exists(files[0]) && std::filesystem::exists(graphs)) files.clear();
    if (std::filesystem::exists(graphs)) files.push_back(graphs);
  }
  Json found = Json::array();
  for (const std::filesystem::path& file : files) {
    const std::optional<Bank> bank = opened_bank(file);
    if (!bank) continue;
    for (const StoredEntry& stored : entries_named(*bank, text)) {
      found.push_back(json_of(stored));
      if (options.json) continue;
      if (found.size() > 1) fmt::print("\n");
      if (!stored.problem.empty()) notice(stored.problem);
      print_entry(stored.entry);
    }
  }
  require(!found.empty(),
          "bank '{}' has no entry '{}', by key, node or repo_key; aoe bank ls "
          "lists them",
          files[0].string(), text);
  if (options.json) print_json(found);
}

void check(const BankOptions& options) {
  const std::filesystem::path file = file_of(options);
  const std::optional<Bank> bank = opened_bank(file);
  const std::vector<std::string> problems = bank ? problems_of(*bank) : std::vector<std::string>();
  int64_t entries = 0;
  int64_t unused = 0;
  if (bank && problems.empty()) {
    bank->for_each([&](const StoredEntry& stored) {
      ++entries;
      unused += stored.is_good() ? 0 : 1;
    });
  }
  if (options.json) {
    print_json({{"bank", file.string()},
                {"entries", entries},
                {"unused", unused},
                {"problems", problems}});
  } else {
    for (const std::string& problem : problems) fmt::print("{}\n", printable(problem));
  }
  require(problems.empty(), "bank '{}' has {}", file.string(),
          count_text(static_cast<int64_t>(problems.size()), "problem"));
  if (options.json) return;
  fmt::print("bank '{}' is valid: {}{}\n", file.string(), count_text(entries, "entry"),
             unused == 0 ? "" : fmt::format(", {} of them newer or foreign", unused));
}

void add_bank_options(CLI::App& command, BankOptions& options) {
  add_file_options(command, options);
  command.add_flag("--json", options.json, "Print JSON");
}

}  // namespace

void add_bank_list_commands(CLI::App& bank) {
  auto listed = std::make_shared<ListOptions>();
  CLI::App* ls = bank.add_subcommand("ls", "List its entries");
  add_bank_options(*ls, *listed);
  ls->add_option("--op", listed->listing.op, "Part of a node's name, or a type (Conv)");
  ls->add_option("--threads", listed->listing.threads, "Of the target")
      ->check(CLI::Range(0, 1'000'000'000));
  ls->add_option("--class", listed->listing.numerics, "Algorithms that the policy needs")
      ->check(CLI::IsMember({"direct", "winograd", "strassen"}));
  ls->add_option("--sort", listed->sort, "gain over the default (default), time, date or id")
      ->check(CLI::IsMember({"gain", "time", "date", "id"}));
  ls->add_option("--limit", listed->listing.limit, "Entries to list, default 50; 0: all")
      ->check(CLI::Range(0, 1'000'000'000));
  ls->add_option("--offset", listed->listing.offset, "Entries to leave out before")
      ->check(CLI::Range(0, 1'000'000'000));
  ls->callback([listed] { list(*listed); });

  auto checked = std::make_shared<BankOptions>();
  CLI::App* verify = bank.add_subcommand("check", "Verify the bank");
  add_bank_options(*verify, *checked);
  verify->callback([checked] { check(*checked); });

  auto shown = std::make_shared<BankOptions>();
  auto key = std::make_shared<std::string>();
  CLI::App* showing = bank.add_subcommand("show", "Show the entries of a workload");
  add_bank_options(*showing, *shown);
  showing->add_option("key", *key, "Beginning of a key, name of a node, or repo_key")->required();
  showing->callback([shown, key] { show(*shown, *key); });
}

}  // namespace aoe

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <nlohmann/json.hpp>

#include "bank/entry_json.h"
#include "bank/merge.h"
#include "base/error.h"
#include "base/file.h"
#include "base/utf8.h"
#include "cli/bank_commands.h"
#include "cli/bank_files.h"
#include "cli/bank_race.h"
#include "cli/words.h"
#include "device/device.h"

namespace aoe {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

struct MergeOptions : BankOptions {
  std::vector<std::string> sources;
  std::string into;
  bool race = false;
  bool dry_run = false;
};

void report(const MergeReport& report, size_t skipped, size_t conflicts, const fs::path& file,
            const MergeOptions& options) {
  if (options.json) {
    print_json({{"bank", file.string()},
                {"dry_run", options.dry_run},
                {"added", report.added},
                {"updated", report.updated},
                {"kept", report.kept},
                {"skipped", skipped},
                {"conflicts", conflicts}});
    return;
  }
  fmt::print("bank '{}': {} {}added, {} updated, {} kept, {} skipped\n", file.string(),
             report.added, options.dry_run ? "would be " : "", report.updated, report.kept,
             skipped);
}

// The bank of this machine, which is in the folder of its processor, has no other entries.
void require_processor_here(const BankOptions& options, const EntryMap& entries) {
  if (!options.file.empty() || entries.empty()) return;
  const std::string& soc_version = entries.begin()->first.target.soc_version;
  require(soc_version == host_device().soc_version(),
          "the entries are for {}, this machine is {}: --bank names a bank for them", soc_version,
          host_device().soc_version());
}

// Merges entries into the bank of a file: those that `read` gives.
void merge_and_report(
    const MergeOptions& options, const fs::path& file,
    const std::function<EntryMap(std::vector<std::string>&, const Decide&)>& read) {
  size_t conflicts = 0;
  const auto decide = [&](const Conflict& conflict) -> std::optional<BankEntry> {
    ++conflicts;
    const auto& [ours, theirs] = conflict;
    if (!options.json) {
      fmt::print("two policies for {}: at least {:.3f} and {:.3f} times as fast as the default\n",
                 printable(title_of(ours)), ours.total_low, theirs.total_low);
    }
    return options.race && !options.dry_run ? raced(conflict) : std::nullopt;
  };
  std::vector<std::string> skipped;
  const EntryMap entries = read(skipped, decide);
  warn_of_skipped(skipped);
  const MergeReport done = merge_into(file, entries, options.dry_run, decide);
  report(done, skipped.size(), conflicts, file, options);
}

void merge(const MergeOptions& options) {
  merge_and_report(options, options.into, [&](auto& skipped, const Decide& decide) {
    return joined_entries({options.sources.begin(), options.sources.end()}, skipped, decide);
  });
}

// The text of an export.
std::string text_of(const std::string& source) {
  constexpr size_t kLongest = size_t{1} << 30;
  const File opened(open(source.c_str(), O_RDONLY | O_CLOEXEC));
  std::string text;
  std::array<char, 1 << 16> part;
  ssize_t size = opened ? 0 : -1;
  while (opened && (size = read(opened.get(), part.data(), part.size())) > 0) {
    text.append(part.data(), static_cast<size_t>(size));
    require(text.size() <= kLongest, "'{}' has more than {} bytes", source, kLongest);
  }
  require(size == 0, "'{}' cannot be read: {}", source, std::strerror(errno));
  return text;
}

void import_lines(const MergeOptions& options) {
  const std::string& source = options.sources[0];
  const std::string text = text_of(source);
  merge_and_report(options, file_of(options), [&](auto& skipped, const Decide&) {
    EntryMap entries = imported_entries(text, "'" + source + "'", skipped);
    require(!entries.empty() || skipped.empty(), "{}; '{}' has no entry of a bank",
            skipped.empty() ? "" : skipped[0], source);
    require_processor_here(options, entries);
    return entries;
  });
}

void export_lines(const BankOptions& options, const std::string& output) {
  const std::optional<Bank> bank = opened_bank(file_of(options));
  std::vector<std::string> skipped;
  const std::string text = bank ? export_text(*bank, skipped) : "";
  warn_of_skipped(skipped);
  if (output.empty()) fmt::print("{}", text);
  else write_export(output, text);
}

void diff(const std::string& first, const std::string& second, bool json) {
  std::vector<std::string> skipped;
  const std::vector<Difference> found =
      differences(joined_entries({first}, skipped), joined_entries({second}, skipped));
  warn_of_skipped(skipped);
  Json all = Json::array();
  for (const auto& [a, b] : found) {
    const auto side = [](const std::optional<BankEntry>& entry) {
      return entry ? json_of(*entry) : Json();
    };
    all.push_back({{"first", side(a)}, {"second", side(b)}});
    if (json) continue;
    if (a) fmt::print("- {}  {}\n", printable(title_of(*a)), gain_text(*a));
    if (b) fmt::print("+ {}  {}\n", printable(title_of(*b)), gain_text(*b));
  }
  if (json) print_json(all);
  else fmt::print("{}\n", count_text(static_cast<int64_t>(found.size()), "difference"));
}

}  // namespace

void add_bank_merge_commands(CLI::App& bank) {
  auto merged = std::make_shared<MergeOptions>();
  CLI::App* merging = bank.add_subcommand("merge", "Merge banks of one processor");
  merging->add_option("source", merged->sources, "Banks to merge; they stay as they are")
      ->required()
      ->check(is_named());
  merging->add_option("-o,--output", merged->into, "The bank to merge into; made if it is missing")
      ->required()
      ->check(is_named());
  merging->add_flag("--race", merged->race, "Measure the two policies of each conflict");
  merging->add_flag("--dry-run", merged->dry_run, "Only say what would change");
  merging->add_flag("--json", merged->json, "Print JSON");
  merging->callback([merged] { merge(*merged); });

  auto exported = std::make_shared<BankOptions>();
  auto output = std::make_shared<std::string>();
  CLI::App* exporting = bank.add_subcommand("export", "Write its entries as lines of JSON");
  add_file_options(*exporting, *exported);
  exporting->add_option("file", *output, "Without: standard output");
  exporting->callback([exported, output] { export_lines(*exported, *output); });

  auto imported = std::make_shared<MergeOptions>();
  imported->sources.resize(1);
  CLI::App* importing = bank.add_subcommand("import", "Merge such lines into the bank");
  add_file_options(*importing, *imported);
  importing->add_option("file", imported->sources[0], "What aoe bank export has written")
      ->required();
  importing->add_flag("--dry-run", imported->dry_run, "Only say what would change");
  importing->add_flag("--json", imported->json, "Print JSON");
  importing->callback([imported] { import_lines(*imported); });

  auto banks = std::make_shared<std::array<std::string, 2>>();
  auto json = std::make_shared<bool>(false);
  CLI::App* comparing = bank.add_subcommand("diff", "Compare two banks");
  comparing->add_option("first", (*banks)[0], "A bank")->required();
  comparing->add_option("second", (*banks)[1], "Another bank")->required();
  comparing->add_flag("--json", *json, "Print JSON");
  comparing->callback([banks, json] { diff((*banks)[0], (*banks)[1], *json); });
}

}  // namespace aoe

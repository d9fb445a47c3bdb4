#include <fmt/format.h>

#include "bank/bank_writer.h"
#include "bank/listing.h"
#include "base/error.h"
#include "base/utf8.h"
#include "cli/bank_commands.h"
#include "cli/bank_files.h"
#include "cli/words.h"

namespace aoe {
namespace {

struct RemoveOptions : BankOptions {
  std::vector<std::string> keys;
  bool aged = false;
  bool dry_run = false;
};

Bank bank_to_change(const std::filesystem::path& file) {
  const std::optional<Bank> bank = opened_bank(file);
  require(bank.has_value(), "bank '{}' is empty", file.string());
  return Bank::for_writing(file, bank->soc_version());
}

void remove(const RemoveOptions& options, const std::vector<StoredEntry>& entries) {
  const std::filesystem::path file = file_of(options);
  const auto print = [](const StoredEntry& stored) {
    fmt::print("- {}  {}  {}\n", printable(title_of(stored.entry)), gain_text(stored.entry),
               printable(stored.entry.date));
  };
  const auto counted = [](size_t count) {
    return count_text(static_cast<int64_t>(count), "entry");
  };
  if (options.dry_run) {
    for (const StoredEntry& stored : entries) print(stored);
    fmt::print("{} would be removed from bank '{}'\n", counted(entries.size()), file.string());
    return;
  }
  std::vector<const StoredEntry*> removed;
  if (!entries.empty()) {
    Bank bank = bank_to_change(file);
    BankWriter writer(bank);
    for (const StoredEntry& stored : entries) {
      if (writer.remove(stored)) removed.push_back(&stored);
    }
    writer.commit();
  }
  for (const StoredEntry* stored : removed) print(*stored);
  const size_t kept = entries.size() - removed.size();
  fmt::print("{} removed from bank '{}'{}\n", counted(removed.size()), file.string(),
             kept > 0 ? fmt::format("; {} changed meanwhile and stay", kept) : "");
}

void remove_named(const RemoveOptions& options) {
  const std::filesystem::path file = file_of(options);
  const std::optional<Bank> bank = opened_bank(file);
  std::map<int64_t, StoredEntry> chosen;
  for (const std::string& key : options.keys) {
    const std::vector<StoredEntry> found =
        bank ? entries_named(*bank, key) : std::vector<StoredEntry>();
    require(!found.empty(),
            "bank '{}' has no entry '{}', by key, node or repo_key; nothing is "
            "removed",
            file.string(), key);
    for (const StoredEntry& stored : found) chosen.emplace(stored.id, stored);
  }
  std::vector<StoredEntry> entries;
  for (auto& [_, stored] : chosen) entries.push_back(std::move(stored));
  remove(options, entries);
}

void prune(const RemoveOptions& options) {
  const std::optional<Bank> bank = opened_bank(file_of(options));
  const auto is_aged = [](const BankEntry& entry) { return is_aged_here(entry); };
  remove(options,
         bank ? entries_to_prune(*bank, options.aged, is_aged) : std::vector<StoredEntry>());
}

void add_options(CLI::App& command, RemoveOptions& options) {
  add_file_options(command, options);
  command.add_flag("--dry-run", options.dry_run, "Only say what would be removed");
}

}  // namespace

void add_bank_remove_commands(CLI::App& bank) {
  auto named = std::make_shared<RemoveOptions>();
  CLI::App* rm = bank.add_subcommand("rm", "Remove the entries of workloads");
  add_options(*rm, *named);
  rm->add_option("key", named->keys, "Beginning of a key, name of a node, or repo_key")->required();
  rm->callback([named] { remove_named(*named); });

  auto pruned = std::make_shared<RemoveOptions>();
  CLI::App* pruning = bank.add_subcommand("prune", "Remove entries that tuning no longer heeds");
  add_options(*pruning, *pruned);
  pruning->add_flag("--aged", pruned->aged,
                    "Policies of other versions and processors too, which are in use");
  pruning->callback([pruned] { prune(*pruned); });
}

}  // namespace aoe

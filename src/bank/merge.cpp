#include "bank/merge.h"

#include <fcntl.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <sstream>

#include "bank/entry_json.h"
#include "base/error.h"
#include "base/file.h"

namespace aoe {
namespace {

namespace fs = std::filesystem;

// The join of two entries, with what `decide` says of them if they are in conflict.
BankEntry joined(const BankEntry& ours, const BankEntry& theirs, const Decide& decide) {
  BankEntry both = join(ours, theirs);
  const bool is_conflict =
      !ours.policy.empty() && !theirs.policy.empty() && ours.policy != theirs.policy;
  if (!decide || !is_conflict) return both;
  const std::optional<BankEntry> decided = decide({ours, theirs});
  return decided ? join(both, *decided) : both;
}

void join_into(EntryMap& all, BankEntry entry, const Decide& decide) {
  EntryKey key = key_of(entry);
  const auto found = all.find(key);
  if (found == all.end()) all.emplace(std::move(key), std::move(entry));
  else found->second = joined(found->second, entry, decide);
}

void add_good(const Bank& bank, EntryMap& all, std::vector<std::string>& skipped,
              const Decide& decide = {}) {
  bank.for_each([&](StoredEntry stored) {
    if (stored.is_good()) join_into(all, std::move(stored.entry), decide);
    else skipped.push_back(std::move(stored.problem));
  });
}

// The processor of all entries; empty if there are none. Fails if there are several.
std::string processor_of(const EntryMap& entries, const std::string& place) {
  std::string found;
  for (const auto& [key, _] : entries) {
    const std::string& soc_version = key.target.soc_version;
    require(found.empty() || found == soc_version,
            "{} has entries for {} and for {}: banks are for one processor each", place, found,
            soc_version);
    found = soc_version;
  }
  return found;
}

}  // namespace

EntryMap joined_entries(const std::vector<fs::path>& files, std::vector<std::string>& skipped,
                        const Decide& decide) {
  EntryMap all;
  std::optional<std::pair<fs::path, std::string>> first;
  for (const fs::path& file : files) {
    require(fs::exists(file), "there is no bank '{}'", file.string());
    const std::optional<Bank> bank = Bank::for_reading(file);
    if (!bank) continue;  // empty
    if (!first) first.emplace(file, bank->soc_version());
    require(first->second == bank->soc_version(),
            "bank '{}' is for {} and bank '{}' for {}: only banks of one processor can be merged",
            first->first.string(), first->second, file.string(), bank->soc_version());
    add_good(*bank, all, skipped, decide);
  }
  return all;
}

EntryMap imported_entries(const std::string& text, const std::string& place,
                          std::vector<std::string>& skipped) {
  EntryMap all;
  std::istringstream lines(text);
  int number = 0;
  for (std::string line; std::getline(lines, line);) {
    ++number;
    if (line.empty()) continue;
    try {
      join_into(all, parse_entry(line), {});
    } catch (const Error& error) {
      skipped.push_back(fmt::format("{}, line {}: {}", place, number, error.what()));
    }
  }
  processor_of(all, place);
  return all;
}

std::string export_text(const Bank& bank, std::vector<std::string>& skipped) {
  EntryMap all;
  add_good(bank, all, skipped);
  std::string text;
  for (const auto& [_, entry] : all) {
    try {
      text += line_of(entry) + "\n";
    } catch (const Error& error) {
      skipped.push_back(fmt::format("bank '{}': {}", bank.file().string(), error.what()));
    }
  }
  return text;
}

void write_export(const fs::path& file, const std::string& text) {
  try {
    constexpr std::string_view kDatabase = "SQLite format 3";
    std::array<char, kDatabase.size()> begin = {};
    const File existing(open(file.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
    const bool is_database = existing && read_at(existing, 0, begin) &&
                             std::string_view(begin.data(), begin.size()) == kDatabase;
    require(!is_database, "it is a database, which an export would replace: name another file");
    replace_file(file, [&](const File& temporary) {
      require(write_all(temporary, text), "it cannot be written: {}", std::strerror(errno));
    });
  } catch (const Error& error) {
    throw error.within(fmt::format("'{}'", file.string()));
  }
}

MergeReport merge_into(const fs::path& file, const EntryMap& entries, bool dry_run,
                       const Decide& decide) {
  MergeReport report;
  const std::string soc_version = processor_of(entries, "what is merged");
  std::optional<Bank> bank = Bank::for_reading(file);
  require(!bank || soc_version.empty() || bank->soc_version() == soc_version,
          "bank '{}' is for {}, what is merged into it for {}: only banks of one processor can be "
          "merged",
          file.string(), bank ? bank->soc_version() : "", soc_version);
  if (entries.empty()) return report;
  // Conflicts are decided before the bank is locked: measuring them takes a while.
  std::vector<EntryKey> keys;
  for (const auto& [key, _] : entries) keys.push_back(key);
  std::vector<std::optional<BankEntry>> existing(keys.size());
  if (bank) existing = bank->exact(keys);
  std::vector<BankEntry> merged;
  for (const auto& [key, theirs] : entries) {
    const std::optional<BankEntry>& ours = existing[merged.size()];
    merged.push_back(ours ? joined(*ours, theirs, decide) : theirs);
    if (!ours) ++report.added;
    else if (merged.back() == *ours) ++report.kept;
    else ++report.updated;
  }
  if (dry_run) return report;
  bank.reset();
  Bank into = Bank::for_writing(file, soc_version);
  BankWriter writer(into);
  report = {};
  for (const BankEntry& entry : merged) {
    switch (writer.join(entry)) {
      case Joined::added: ++report.added; break;
      case Joined::updated: ++report.updated; break;
      case Joined::kept: ++report.kept; break;
    }
  }
  writer.commit();
  return report;
}

std::vector<Difference> differences(const EntryMap& first, const EntryMap& second) {
  std::vector<Difference> found;
  for (const auto& [key, entry] : first) {
    const auto other = second.find(key);
    if (other == second.end()) found.push_back({entry, std::nullopt});
    else if (compare(entry, other->second) != 0) found.push_back({entry, other->second});
  }
  for (const auto& [key, entry] : second) {
    if (!first.contains(key)) found.push_back({std::nullopt, entry});
  }
  return found;
}

}  // namespace aoe

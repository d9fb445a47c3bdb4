#include "bank/bank.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <set>
#include <thread>

#include "bank/bank_writer.h"
#include "base/error.h"
#include "base/file.h"
#include "base/notice.h"

namespace aoe {
namespace {

namespace fs = std::filesystem;

// On a busy disk, a write may hold its lock for more than a second. Loading a model waits that
// long, because the model is slower without its policies for as long as it is loaded; a job that
// has tuned for minutes waits longer.
constexpr int kReadBusyMs = 5000;
constexpr int kWriteBusyMs = 30000;

constexpr std::string_view kByKey = "WHERE key = ? ORDER BY id";

// Sets a rollback journal, even if another tool had set a write-ahead log, which fails on network
// file systems and makes readers create files.
void set_up(Database& database) {
  database.text("PRAGMA journal_mode = DELETE");
  database.run("PRAGMA synchronous = EXTRA");
}

void set_up_tables(Database& database, const std::string& soc_version) {
  Transaction transaction(database);
  // Another process may have created them first.
  if (is_empty(database)) create_tables(database, soc_version);
  transaction.commit();
}

void require_plain_tables(const Database& database) {
  for (const char* table : {"bank", "policies"}) database.require_plain(table);
}

void make_folders(const fs::path& file) {
  if (!file.has_parent_path()) return;  // in the working folder
  std::error_code error;
  fs::create_directories(file.parent_path(), error);
  require(!error && fs::is_directory(file.parent_path()),
          "bank '{}': its folder cannot be made: {}; TUNE_BANK_PATH names another place for banks",
          file.string(), error.message());
}

// It is used all the same: a policy is validated before code is generated, so whoever writes to the
// bank can make models slower, but not wrong.
void warn_if_writable_by_all(const fs::path& file) {
  if (!is_writable_by_all(file)) return;
  notice_once(fmt::format(
      "bank '{}' can be written or replaced by every user of this machine: remove that permission "
      "from it or from its folder (chmod o-w)",
      file.string()));
}

// The owner of a log of another user that was killed: the log of one who writes is soon gone.
std::optional<std::string> foreign_owner_of_left_log(const fs::path& file) {
  constexpr std::chrono::milliseconds kPause{10};
  constexpr int kLooks = 3;  // between the two questions, a writer may begin or end
  std::optional<std::string> owner = foreign_owner_of_log(file);
  int unlocked = 0;
  for (int waited_ms = 0; owner && waited_ms < kWriteBusyMs; waited_ms += kPause.count()) {
    unlocked = is_locked_for_writing(file) ? 0 : unlocked + 1;
    if (unlocked == kLooks) break;
    std::this_thread::sleep_for(kPause);
    owner = foreign_owner_of_log(file);
  }
  return owner;
}

// Of the entries that may be used where `allowed` is, the one with the least distance is the best:
// one that was tuned for the same class, then for larger ones, then for smaller ones.
int distance(Numerics tuned_for, Numerics allowed) {
  const int difference = static_cast<int>(tuned_for) - static_cast<int>(allowed);
  return difference >= 0 ? difference : static_cast<int>(kNumericsNames.size()) - difference;
}

}  // namespace

std::optional<Bank> Bank::for_reading(const fs::path& file, bool waits) {
  std::error_code error;
  if (!fs::exists(file, error)) return std::nullopt;
  warn_if_writable_by_all(file);
  // A killed writer leaves its rollback journal; undoing its transaction needs write access.
  const bool undo = has_rollback_journal(file) && may_recover(file);
  auto database = std::make_unique<Database>(
      file, undo ? Database::Access::write : Database::Access::read, waits ? kReadBusyMs : 0);
  require(!database->has_write_ahead_mode(),
          "bank '{}' was set to a write-ahead log by another program, with which readers create "
          "files: tuning, or 'PRAGMA journal_mode = DELETE', sets it back",
          file.string());
  if (is_empty(*database)) return std::nullopt;
  schema_of(*database);
  require_plain_tables(*database);
  std::string soc_version = database->text("SELECT soc_version FROM bank");
  return Bank(std::move(database), std::move(soc_version));
}

Bank Bank::for_writing(const BankPlaces& places, BankKind kind, const std::string& soc_version) {
  const fs::path file = places.written(kind);
  // Other places are chosen by whoever sets the variable, for instance for a team.
  if (places.variable == "HOME") {
    const std::optional<std::string> owner = foreign_owner(file);
    require(!owner,
            "bank '{}' belongs to {}, who is neither you nor root: nothing is written to it; is "
            "HOME that of another user? TUNE_BANK_PATH names another place for banks",
            file.string(), owner.value_or(""));
  }
  return for_writing(file, soc_version);
}

Bank Bank::for_writing(const fs::path& file, const std::string& soc_version) {
  make_folders(file);
  warn_if_writable_by_all(file);
  // A rollback journal may name any file, which SQLite deletes after the recovery.
  const std::optional<std::string> owner = foreign_owner_of_left_log(file);
  require(!owner,
          "bank '{}': a process of {} was killed while it wrote to it, and its log remains: that "
          "user's next access repairs it",
          file.string(), owner.value_or(""));
  auto database = std::make_unique<Database>(file, Database::Access::create, kWriteBusyMs);
  const bool fresh = is_empty(*database);
  // Check before any change: the file may belong to another program.
  if (!fresh) schema_of(*database);
  set_up(*database);
  if (fresh) set_up_tables(*database, soc_version);
  schema_of(*database);
  require_plain_tables(*database);
  const std::string found = database->text("SELECT soc_version FROM bank");
  require(found == soc_version, "bank '{}' is for {}, this is {}", file.string(), found,
          soc_version);
  // Fails now, and not after hours of tuning, if the file or its folder is not writable. Neither an
  // empty transaction nor one without changes would.
  {
    const Transaction undone(*database);
    database->run("INSERT INTO bank VALUES ('')");
  }
  return {std::move(database), soc_version};
}

LookupResult Bank::find(EntryQuery& by_key, const std::string& workload, const Target& target,
                        Numerics allowed) {
  LookupResult found;
  std::vector<BankEntry> usable;
  by_key.parameters().bind(key_text(workload));
  while (by_key.step()) {
    StoredEntry stored = by_key.entry();
    // Report it whatever its workload and target are: in a damaged entry, those may be wrong too.
    if (!stored.is_good()) {
      found.problems.push_back(std::move(stored.problem));
      continue;
    }
    BankEntry& entry = stored.entry;
    if (entry.workload != workload || entry.target != target) continue;
    if (entry.kind() == EntryKind::no_gain) {
      if (entry.allowed >= allowed) found.no_gain.push_back(std::move(entry));
      continue;
    }
    if (const Numerics needed = entry.numerics(); needed > allowed) {
      found.not_allowed = std::max(needed, found.not_allowed.value_or(needed));
      continue;
    }
    usable.insert(usable.begin(), std::move(entry));  // of two that are alike, the later one
  }
  std::stable_sort(usable.begin(), usable.end(), [&](const BankEntry& a, const BankEntry& b) {
    return distance(a.allowed, allowed) < distance(b.allowed, allowed);
  });
  if (usable.empty()) return found;
  found.not_allowed.reset();
  found.entry = std::move(usable[0]);
  found.others.assign(std::make_move_iterator(usable.begin() + 1),
                      std::make_move_iterator(usable.end()));
  return found;
}

std::vector<LookupResult> Bank::find(const std::vector<std::string>& workloads,
                                     const Target& target, Numerics allowed) const {
  std::vector<LookupResult> found;
  const ReadTransaction all_as_of_now(*database_);
  EntryQuery by_key = query(kByKey);
  for (const std::string& workload : workloads) {
    found.push_back(find(by_key, workload, target, allowed));
  }
  return found;
}

void Bank::for_each(FunctionRef<void(StoredEntry&&)> visit) const {
  const ReadTransaction all_as_of_now(*database_);
  EntryQuery all = query("ORDER BY id");
  while (all.step()) visit(all.entry());
}

std::vector<StoredEntry> Bank::entries() const {
  std::vector<StoredEntry> entries;
  for_each([&](StoredEntry stored) { entries.push_back(std::move(stored)); });
  return entries;
}

std::vector<std::optional<BankEntry>> Bank::exact(const std::vector<EntryKey>& keys) const {
  std::vector<std::optional<BankEntry>> found(keys.size());
  const ReadTransaction all_as_of_now(*database_);
  EntryQuery by_key = query(kByKey);
  for (size_t i = 0; i < keys.size(); ++i) {
    by_key.parameters().bind(key_text(keys[i].workload));
    while (!found[i] && by_key.step()) {
      StoredEntry stored = by_key.entry();
      if (stored.is_good() && key_of(stored.entry) == keys[i]) found[i] = std::move(stored.entry);
    }
  }
  return found;
}

std::vector<TransferSeed> Bank::other_shapes(const std::vector<std::string>& workloads,
                                             const Target& target) const {
  std::set<std::string> families;
  for (const std::string& workload : workloads) families.insert(family_of(workload));
  std::vector<TransferSeed> seeds;
  const auto add = [&](const StoredEntry& stored) {
    const BankEntry& entry = stored.entry;
    const bool counts =
        stored.is_good() && entry.target == target && entry.kind() == EntryKind::policy;
    if (counts) seeds.push_back({entry.workload, entry.policy});
  };
  const ReadTransaction all_as_of_now(*database_);
  if (schema_of(*database_) == kFirstSchema) {  // without families
    EntryQuery all = query("ORDER BY id");
    while (all.step()) {
      const StoredEntry stored = all.entry();
      if (families.contains(family_of(stored.entry.workload))) add(stored);
    }
    return seeds;
  }
  EntryQuery of_family = query("WHERE family = ? ORDER BY id");
  for (const std::string& family : families) {
    of_family.parameters().bind(family);
    while (of_family.step()) add(of_family.entry());
  }
  return seeds;
}

bool Bank::put(const BankEntry& entry, const std::optional<std::string>& baseline) {
  BankWriter writer(*this);
  EntryQuery by_key = query(kByKey);
  const LookupResult found = find(by_key, entry.workload, entry.target, entry.allowed);
  if (found.entry && found.entry->policy != baseline) return false;
  writer.replace(entry);
  writer.commit();
  return true;
}

void Bank::merge(const std::vector<BankEntry>& entries) {
  if (entries.empty()) return;
  BankWriter writer(*this);
  for (const BankEntry& entry : entries) writer.join(entry);
  writer.commit();
}

}  // namespace aoe

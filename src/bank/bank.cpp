#include "bank/bank.h"

#include <fmt/format.h>

#include <cassert>
#include <cmath>

#include "base/error.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/notice.h"

namespace aoe {
namespace {

namespace fs = std::filesystem;

constexpr int64_t kApplication = 0x616f6562;  // "aoeb", which tools such as `file` recognize
constexpr int64_t kSchemaVersion = 1;         // of the tables
// Formats of an entry. A version ignores entries in formats that it does not know.
constexpr int64_t kPolicyFormat = 1;
constexpr int64_t kGraphFormat = 2;

// Loading a model must not wait long for a bank; a job that has tuned for minutes waits longer.
constexpr int kReadBusyMs = 1000;
constexpr int kWriteBusyMs = 30000;

constexpr std::string_view kSchema = R"(
CREATE TABLE bank (soc_version TEXT NOT NULL);
CREATE TABLE policies (
  id INTEGER PRIMARY KEY,
  format INTEGER NOT NULL,
  key TEXT NOT NULL,
  workload TEXT NOT NULL,
  soc_version TEXT NOT NULL,
  instruction_set TEXT NOT NULL,
  threads INTEGER NOT NULL,
  policy TEXT NOT NULL,
  before_ns REAL NOT NULL,
  after_ns REAL NOT NULL,
  speedup_low REAL NOT NULL,
  speedup_high REAL NOT NULL,
  noise_floor REAL NOT NULL,
  samples INTEGER NOT NULL,
  evidence TEXT NOT NULL,
  processor TEXT NOT NULL,
  product_version TEXT NOT NULL,
  date TEXT NOT NULL,
  effort TEXT NOT NULL,
  checksum TEXT NOT NULL
);
CREATE INDEX policies_by_key ON policies (key);
)";

// In the order of the table.
constexpr std::string_view kSelect =
    "SELECT id, format, key, workload, soc_version, instruction_set, threads, policy, before_ns, "
    "after_ns, speedup_low, speedup_high, noise_floor, samples, evidence, processor, "
    "product_version, date, effort, checksum FROM policies";

std::string checksum_text(const BankEntry& entry) {
  return fmt::format("{:016x}", checksum_of(entry));
}

bool is_empty(const Database& database) {
  return database.integer("SELECT count(*) FROM sqlite_schema") == 0;
}

// Fails if the database is not a bank of a known version. Returns the processor that it is for.
std::string checked(const Database& database) {
  const std::string file = database.file().string();
  require(database.integer("PRAGMA application_id") == kApplication, "'{}' is not a bank", file);
  const int64_t version = database.integer("PRAGMA user_version");
  require(version <= kSchemaVersion,
          "bank '{}' was made by a newer version: its tables have version {}, {} is known here",
          file, version, kSchemaVersion);
  return database.text("SELECT soc_version FROM bank");
}

// Sets a rollback journal, even if another tool had set a write-ahead log, which fails on network
// file systems and makes readers create files.
void set_up(Database& database) {
  database.text("PRAGMA journal_mode = DELETE");
  database.run("PRAGMA synchronous = EXTRA");
}

void create_tables(Database& database, const std::string& soc_version) {
  Transaction transaction(database);
  // Another process may have created them first.
  if (is_empty(database)) {
    database.run(fmt::format("PRAGMA application_id = {}; PRAGMA user_version = {}", kApplication,
                             kSchemaVersion));
    database.run(kSchema);
    database.prepare("INSERT INTO bank VALUES (?)").bind(soc_version).run();
  }
  transaction.commit();
}

void make_folders(const fs::path& file) {
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

void bind_fields(Statement& statement, const BankEntry& entry) {
  statement.bind(entry.is_of_graph() ? kGraphFormat : kPolicyFormat)
      .bind(key_text(entry.workload))
      .bind(entry.workload)
      .bind(entry.target.soc_version)
      .bind(entry.target.instruction_set)
      .bind(int64_t{entry.target.threads})
      .bind(entry.policy)
      .bind(entry.gain.before_ns)
      .bind(entry.gain.after_ns)
      .bind(entry.gain.speedup_low)
      .bind(entry.gain.speedup_high)
      .bind(entry.gain.noise_floor)
      .bind(entry.gain.samples)
      .bind(evidence_text(entry.evidence))
      .bind(entry.processor)
      .bind(entry.product_version)
      .bind(entry.date)
      .bind(entry.effort)
      .bind(checksum_text(entry));
}

bool is_plausible(const Gain& gain) {
  const auto positive = [](double number) { return std::isfinite(number) && number > 0; };
  return positive(gain.before_ns) && positive(gain.after_ns) && positive(gain.speedup_low) &&
         positive(gain.speedup_high) && gain.speedup_low <= gain.speedup_high;
}

}  // namespace

std::string key_text(const std::string& workload) {
  return fmt::format("{:016x}", stable_hash(workload));
}

std::optional<Bank> Bank::for_reading(const fs::path& file) {
  std::error_code error;
  if (!fs::exists(file, error)) return std::nullopt;
  warn_if_writable_by_all(file);
  require(!has_write_ahead_mode(file),
          "bank '{}' was set to a write-ahead log by another program, with which readers create "
          "files: tuning, or 'PRAGMA journal_mode = DELETE', sets it back",
          file.string());
  // A killed writer leaves its rollback journal; undoing its transaction needs write access.
  const bool undo = has_rollback_journal(file) && may_recover(file);
  auto database = std::make_unique<Database>(
      file, undo ? Database::Access::write : Database::Access::read, kReadBusyMs);
  if (is_empty(*database)) return std::nullopt;
  std::string soc_version = checked(*database);
  return Bank(std::move(database), std::move(soc_version));
}

Bank Bank::for_writing(const BankPlaces& places, const std::string& soc_version) {
  // Other places are chosen by whoever sets the variable, for instance for a team.
  if (places.variable == "HOME") {
    const std::optional<std::string> owner = foreign_owner(places.custom);
    require(!owner,
            "bank '{}' belongs to {}, who is neither you nor root: nothing is written to it; is "
            "HOME that of another user? TUNE_BANK_PATH names another place for banks",
            places.custom.string(), owner.value_or(""));
  }
  return for_writing(places.custom, soc_version);
}

Bank Bank::for_writing(const fs::path& file, const std::string& soc_version) {
  make_folders(file);
  warn_if_writable_by_all(file);
  // A rollback journal may name any file, which SQLite deletes after the recovery.
  const std::optional<std::string> owner = foreign_owner_of_log(file);
  require(!owner,
          "bank '{}': a process of {} was killed while it wrote to it, and its log remains: that "
          "user's next access repairs it",
          file.string(), owner.value_or(""));
  auto database = std::make_unique<Database>(file, Database::Access::create, kWriteBusyMs);
  const bool fresh = is_empty(*database);
  // Check before any change: the file may belong to another program.
  if (!fresh) checked(*database);
  set_up(*database);
  if (fresh) create_tables(*database, soc_version);
  const std::string found = checked(*database);
  require(found == soc_version, "bank '{}' is for {}, this is {}", file.string(), found,
          soc_version);
  // An empty write fails now, and not after hours of tuning, if the file is not writable.
  Transaction(*database).commit();
  return {std::move(database), soc_version};
}

StoredEntry Bank::stored(const Statement& row) const {
  using State = StoredEntry::State;
  StoredEntry stored{.id = row.integer(0)};
  BankEntry& entry = stored.entry;
  entry.workload = row.text(3);
  const int64_t threads = row.integer(6);
  entry.target = {row.text(4), row.text(5), static_cast<int>(threads)};
  entry.policy = row.text(7);
  entry.gain.before_ns = row.real(8);
  entry.gain.after_ns = row.real(9);
  entry.gain.speedup_low = row.real(10);
  entry.gain.speedup_high = row.real(11);
  entry.gain.noise_floor = row.real(12);
  entry.gain.samples = row.integer(13);
  entry.evidence = evidence_of(row.text(14));
  entry.processor = row.text(15);
  entry.product_version = row.text(16);
  entry.date = row.text(17);
  entry.effort = row.text(18);
  const std::string key = row.text(2);
  const auto is = [&](State state, std::string_view what) {
    stored.state = state;
    stored.problem =
        fmt::format("bank '{}', entry {} (workload {}): {}", file().string(), stored.id, key, what);
  };
  const int64_t format = row.integer(1);
  if (format > kGraphFormat) {
    is(State::newer, "it was made by a newer version");
  } else if (format != (entry.is_of_graph() ? kGraphFormat : kPolicyFormat) ||
             threads != entry.target.threads) {
    is(State::damaged, "it is damaged: its format or its threads do not fit");
  } else if (key != key_text(entry.workload) || row.text(19) != checksum_text(entry)) {
    is(State::damaged, "it is damaged: its checksum does not fit");
  } else if (!is_plausible(entry.gain)) {
    is(State::damaged, "its measurements are inconsistent");
  } else if (entry.target.soc_version != soc_version_) {
    is(State::foreign, fmt::format("it is for {}", entry.target.soc_version));
  }
  return stored;
}

LookupResult Bank::find(Statement& select, const std::string& workload, const Target& target,
                        Numerics allowed) const {
  LookupResult found;
  select.reset();
  select.bind(key_text(workload));
  while (select.step()) {
    StoredEntry entry = stored(select);
    // Report it whatever its workload and target are: in a damaged entry, those may be wrong too.
    if (entry.state != StoredEntry::State::good) {
      found.problems.push_back(std::move(entry.problem));
      continue;
    }
    const Numerics needed = entry.entry.numerics();
    const bool fits = entry.entry.workload == workload && entry.entry.target == target;
    if (!fits || needed > allowed) continue;
    if (!found.entry || needed >= found.entry->numerics()) found.entry = std::move(entry.entry);
  }
  return found;
}

std::vector<LookupResult> Bank::find(const std::vector<std::string>& workloads,
                                     const Target& target, Numerics allowed) const {
  std::vector<LookupResult> found;
  Statement select = database_->prepare(fmt::format("{} WHERE key = ? ORDER BY id", kSelect));
  const ReadTransaction all_as_of_now(*database_);
  for (const std::string& workload : workloads) {
    found.push_back(find(select, workload, target, allowed));
  }
  return found;
}

std::vector<StoredEntry> Bank::entries() const {
  std::vector<StoredEntry> entries;
  Statement select = database_->prepare(fmt::format("{} ORDER BY id", kSelect));
  while (select.step()) entries.push_back(stored(select));
  return entries;
}

bool Bank::put(const BankEntry& entry, const std::optional<std::string>& baseline,
               Numerics allowed) {
  require(entry.target.soc_version == soc_version_, "bank '{}' is for {}, the policy for {}",
          file().string(), soc_version_, entry.target.soc_version);
  // SQLite stores NaN as NULL, which the table rejects.
  assert(!std::isnan(entry.gain.before_ns + entry.gain.after_ns + entry.gain.speedup_low +
                     entry.gain.speedup_high + entry.gain.noise_floor));
  assert(entry.numerics() <= allowed);
  Transaction transaction(*database_);
  int64_t id = 0;  // of the first entry that is replaced
  {
    Statement select = database_->prepare(fmt::format("{} WHERE key = ? ORDER BY id", kSelect));
    const LookupResult found = find(select, entry.workload, entry.target, allowed);
    if (found.entry && found.entry->policy != baseline) return false;
    std::vector<int64_t> useless;
    select.reset();
    select.bind(key_text(entry.workload));
    while (select.step()) {
      const StoredEntry other = stored(select);
      const bool same = other.state == StoredEntry::State::good &&
                        other.entry.workload == entry.workload &&
                        other.entry.target == entry.target;
      if (!same || other.entry.numerics() < entry.numerics() || other.entry.numerics() > allowed) {
        continue;
      }
      if (id == 0) id = other.id;
      else useless.push_back(other.id);
    }
    for (const int64_t other : useless) {
      Statement remove = database_->prepare("DELETE FROM policies WHERE id = ?");
      remove.bind(other);
      remove.run();
    }
  }
  if (id == 0) {
    Statement insert = database_->prepare(
        "INSERT INTO policies (format, key, workload, soc_version, instruction_set, threads, "
        "policy, before_ns, after_ns, speedup_low, speedup_high, noise_floor, samples, evidence, "
        "processor, product_version, date, effort, checksum) "
        "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)");
    bind_fields(insert, entry);
    insert.run();
  } else {
    Statement update = database_->prepare(
        "UPDATE policies SET format = ?, key = ?, workload = ?, soc_version = ?, "
        "instruction_set = ?, threads = ?, policy = ?, before_ns = ?, after_ns = ?, "
        "speedup_low = ?, speedup_high = ?, noise_floor = ?, samples = ?, evidence = ?, "
        "processor = ?, product_version = ?, date = ?, effort = ?, checksum = ? WHERE id = ?");
    bind_fields(update, entry);
    update.bind(id);
    update.run();
  }
  transaction.commit();
  return true;
}

}  // namespace aoe

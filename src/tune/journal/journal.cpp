#include "tune/journal/journal.h"

#include <sys/vfs.h>

#include <algorithm>
#include <array>

#include "base/error.h"
#include "base/file.h"
#include "base/hash.h"

namespace aoe {
namespace {

namespace fs = std::filesystem;
using Kind = JournalEntry::Kind;

constexpr int64_t kApplication = 0x616f656a;  // "aoej"
constexpr int64_t kVersion = 1;

constexpr std::string_view kSchema = R"(
CREATE TABLE entry(
  number INTEGER PRIMARY KEY,
  kind TEXT NOT NULL,
  request TEXT NOT NULL,
  answer TEXT NOT NULL,
  checksum INTEGER NOT NULL
) STRICT;
CREATE TRIGGER entry_stays BEFORE UPDATE ON entry
  BEGIN SELECT RAISE(ABORT, 'entries are never changed'); END;
CREATE TRIGGER entry_remains BEFORE DELETE ON entry
  BEGIN SELECT RAISE(ABORT, 'entries are never removed'); END;
)";
constexpr std::string_view kSelect = "SELECT number, kind, request, answer, checksum FROM entry";

constexpr std::string_view name_of(Kind kind) {
  return kind == Kind::measurement ? "measurement" : "decision";
}

// Checksums form a chain from entry to entry, so that a missing or moved entry is detected.
int64_t checksum_of(int64_t before, int64_t number, std::string_view kind, std::string_view request,
                    std::string_view answer) {
  const std::array<uint64_t, 3> numbers = {static_cast<uint64_t>(before),
                                           static_cast<uint64_t>(number), request.size()};
  uint64_t hash = stable_hash(std::as_bytes(std::span(numbers)));
  for (const std::string_view text : {kind, request, answer}) hash = stable_hash(text, hash);
  return static_cast<int64_t>(hash);
}

// The entry at a row of kSelect, which must follow entry `before`. `checksum` is that of the
// previous entry on call and that of this one on return.
JournalEntry entry_at(const Statement& row, const fs::path& file, int64_t before,
                      int64_t& checksum) {
  JournalEntry entry{.number = row.integer(0), .request = row.text(2), .answer = row.text(3)};
  const std::string kind = row.text(1);
  require(entry.number == before + 1, "'{}': entry {} is missing: the journal is damaged",
          file.string(), before + 1);
  checksum = checksum_of(checksum, entry.number, kind, entry.request, entry.answer);
  require(checksum == row.integer(4),
          "'{}': entry {} is not what was written: the journal is damaged", file.string(),
          entry.number);
  entry.kind = kind == name_of(Kind::measurement) ? Kind::measurement : Kind::decision;
  return entry;
}

// False for an empty database, whose writer was killed before it wrote the schema. Fails for any
// other file that is not a journal.
bool is_journal(const Database& database) {
  const auto file = [&] { return database.file().string(); };
  const int64_t application = database.integer("PRAGMA application_id");
  if (application == 0 && database.integer("SELECT count(*) FROM sqlite_schema") == 0) return false;
  require(application == kApplication, "'{}' is not a job's journal", file());
  const int64_t version = database.integer("PRAGMA user_version");
  require(version <= kVersion,
          "'{}' was written by a newer version of aoe (journal version {}, this one knows {}): "
          "use that one",
          file(), version, kVersion);
  require(version == kVersion, "'{}' has the unknown journal version {}: it is damaged", file(),
          version);
  return true;
}

// Whether the file is on a network file system, where processes on different machines do not see
// each other's shared memory, which the write-ahead log needs.
bool is_on_network(const fs::path& file) {
  struct statfs info = {};
  const fs::path folder = fs::absolute(file).parent_path();
  if (statfs(folder.c_str(), &info) != 0) return false;
  const auto type = static_cast<uint32_t>(info.f_type);
  constexpr std::array<uint32_t, 8> kNetwork = {
      0x6969,      // NFS
      0x517b,      // SMB
      0xff534d42,  // CIFS
      0xfe534d42,  // SMB 2
      0x65735546,  // FUSE, which may be anything
      0x01021997,  // 9P
      0x0bd00bd0,  // Lustre
      0x00c36400,  // Ceph
  };
  return std::find(kNetwork.begin(), kNetwork.end(), type) != kNetwork.end();
}

fs::path checked(const fs::path& file, Journal::Start start) {
  const bool there = fs::exists(file);
  if (start == Journal::Start::fresh) {
    require(!there, "'{}' is there already: reload that job, or choose another place",
            file.string());
  } else {
    require(there, "'{}' is not there: no job to reload", file.string());
    // Its logs may name any file, which SQLite deletes after a recovery.
    std::optional<std::string> owner = foreign_owner(file);
    if (!owner) owner = foreign_owner_of_log(file);
    require(!owner, "'{}' belongs to {}: only they can reload that job", file.string(),
            owner.value_or(""));
  }
  return file;
}

// Readers open the file for writing if they may: after a writer was killed in the middle of an
// entry, the first process to open the file must recover it.
Database::Access access_of_reader(const fs::path& file) {
  return may_recover(file) ? Database::Access::write : Database::Access::read;
}

// The part of a text around the position where it differs from another.
std::string excerpt(std::string_view text, size_t difference) {
  constexpr size_t kBefore = 40;
  constexpr size_t kLongest = 200;
  const size_t begin = difference < kBefore ? 0 : difference - kBefore;
  const std::string_view part = text.substr(begin, kLongest);
  return fmt::format("{}{}{}", begin > 0 ? "..." : "", part,
                     begin + part.size() < text.size() ? "..." : "");
}

void require_same(std::string_view what, std::string_view recorded, std::string_view now,
                  const fs::path& file, int64_t number) {
  if (recorded == now) return;
  const auto differs =
      std::mismatch(recorded.begin(), recorded.end(), now.begin(), now.end()).first;
  const auto at = static_cast<size_t>(differs - recorded.begin());
  fail(
      "'{}', entry {}: the journal's {} is '{}', but the job's is now '{}': it was written with "
      "other options or another version of aoe; reload it with those, or start a new job",
      file.string(), number, what, excerpt(recorded, at), excerpt(now, at));
}

}  // namespace

Journal::Journal(const fs::path& file, Start start)
    : database_(checked(file, start),
                start == Start::fresh ? Database::Access::create : Database::Access::write) {
  if (!is_journal(database_)) {
    // An entry takes 0.03 ms with a write-ahead log that is not synced, 4 ms with a synced one, 14
    // ms with a rollback journal; a measurement takes some ten. A power failure loses only the last
    // entries, which are measured again.
    if (!is_on_network(file)) database_.run("PRAGMA journal_mode = WAL");
    Transaction transaction(database_);
    database_.run(kSchema);
    database_.run(fmt::format("PRAGMA application_id = {}; PRAGMA user_version = {}", kApplication,
                              kVersion));
    transaction.commit();
  }
  database_.require_plain("entry");
  database_.run("PRAGMA synchronous = NORMAL");
  recorded_ = database_.integer("SELECT ifnull(max(number), 0) FROM entry");
}

std::optional<std::string> Journal::replay_next(Kind kind, std::string_view request) {
  if (!replaying()) return std::nullopt;
  Statement query = database_.prepare(fmt::format("{} WHERE number > ? LIMIT 1", kSelect));
  query.bind(at_);
  require(query.step(), "'{}': entry {} is missing: the journal is damaged",
          database_.file().string(), at_ + 1);
  JournalEntry entry = entry_at(query, database_.file(), at_, checksum_);
  require_same("kind of entry", name_of(entry.kind), name_of(kind), database_.file(), entry.number);
  require_same("request", entry.request, request, database_.file(), entry.number);
  ++at_;
  return std::move(entry.answer);
}

void Journal::append(Kind kind, std::string_view request, std::string_view answer) {
  const int64_t number = at_ + 1;
  const int64_t checksum = checksum_of(checksum_, number, name_of(kind), request, answer);
  Transaction transaction(database_);
  require(database_.integer("SELECT ifnull(max(number), 0) FROM entry") == at_,
          "'{}': another process writes to this journal: only one may run the job",
          database_.file().string());
  database_.prepare("INSERT INTO entry VALUES (?, ?, ?, ?, ?)")
      .bind(number)
      .bind(name_of(kind))
      .bind(request)
      .bind(answer)
      .bind(checksum)
      .run();
  transaction.commit();
  at_ = number;
  checksum_ = checksum;
}

std::string Journal::ask(std::string_view request, FunctionRef<std::string()> measure) {
  if (auto answer = replay_next(Kind::measurement, request)) return *std::move(answer);
  std::string answer = measure();
  append(Kind::measurement, request, answer);
  return answer;
}

void Journal::record_decision(std::string_view request, std::string_view decision) {
  if (const auto before = replay_next(Kind::decision, request)) {
    require_same("decision", *before, decision, database_.file(), at_);
  } else {
    append(Kind::decision, request, decision);
  }
}

std::vector<JournalEntry> read_journal(const fs::path& file) {
  require(fs::exists(file), "'{}' is not there", file.string());
  Database database(file, access_of_reader(file));
  std::vector<JournalEntry> entries;
  if (!is_journal(database)) return entries;
  Statement query = database.prepare(fmt::format("{} ORDER BY number", kSelect));
  int64_t checksum = 0;
  while (query.step()) {
    const int64_t before = entries.empty() ? 0 : entries.back().number;
    entries.push_back(entry_at(query, database.file(), before, checksum));
  }
  return entries;
}

std::vector<std::string> check_journal(const fs::path& file) {
  std::vector<std::string> problems;
  try {
    read_journal(file);
    Database database(file, access_of_reader(file));
    Statement check = database.prepare("PRAGMA integrity_check");
    while (check.step()) {
      if (check.text(0) != "ok") {
        problems.push_back(fmt::format("'{}': {}", file.string(), check.text(0)));
      }
    }
  } catch (const Error& error) {
    problems.emplace_back(error.what());
  }
  return problems;
}

}  // namespace aoe

#include "base/sqlite.h"

#include <sqlite3.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <fstream>
#include <sstream>
#include <thread>

#include "base/error.h"
#include "base/file.h"

namespace aoe {
namespace {

int flags_of(Database::Access access) {
  switch (access) {
    case Database::Access::read: return SQLITE_OPEN_READONLY;
    case Database::Access::write: return SQLITE_OPEN_READWRITE;
    case Database::Access::create: return SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE;
  }
  return 0;
}

// Advice to the user that SQLite's message lacks.
std::string_view advice(int code) {
  if (code == SQLITE_READONLY_ROLLBACK || code == SQLITE_READONLY_RECOVERY) {
    return "; a process was killed while it wrote to it: its owner's next access repairs it";
  }
  switch (code & 0xff) {
    case SQLITE_BUSY:
    case SQLITE_LOCKED: return "; another process has been writing to it all the time: try again";
    case SQLITE_FULL: return "; make room on its disk";
    case SQLITE_READONLY:
    case SQLITE_PERM: return "; it, and the folder it is in, must be writable";
    case SQLITE_NOTADB: return "; this is no database, or a damaged one: move it away";
    case SQLITE_CORRUPT: return "; it is damaged: move it away";
    default: return "";
  }
}

// The longest value that is read or written. Expressions in a schema can compute values that are
// longer than the file.
constexpr int kLongestValue = 64 << 20;

// Files may come from anywhere, and a schema can make SQLite do much more than read tables: views,
// triggers and virtual tables run code of the file's author inside ordinary queries.
void harden(sqlite3* database) {
  constexpr int kOff[] = {SQLITE_DBCONFIG_TRUSTED_SCHEMA, SQLITE_DBCONFIG_ENABLE_TRIGGER,
                          SQLITE_DBCONFIG_ENABLE_VIEW};
  for (const int option : kOff) sqlite3_db_config(database, option, 0, nullptr);
  sqlite3_db_config(database, SQLITE_DBCONFIG_DEFENSIVE, 1, nullptr);
  sqlite3_drop_modules(database, nullptr);
  sqlite3_limit(database, SQLITE_LIMIT_LENGTH, kLongestValue);
  // A mapped file could change between SQLite's checks and its reads. Constraints are expressions.
  sqlite3_exec(database,
               "PRAGMA cell_size_check = ON; PRAGMA mmap_size = 0; "
               "PRAGMA ignore_check_constraints = ON",
               nullptr, nullptr, nullptr);
}

// "; process 123 (aoe) has locked it": the process that holds one of SQLite's locks for writing on
// the file; empty if none does any more, or if it runs on another machine. Asks the system's table
// of locks: opening the file here, and closing it, would release the locks that this process has.
std::string holder_text(const std::filesystem::path& file) {
  constexpr int64_t kFirstLockedByte = 0x40000000;
  struct stat status = {};
  if (stat(file.c_str(), &status) != 0) return "";
  const std::string inode = fmt::format(":{}", status.st_ino);
  std::ifstream locks("/proc/locks");
  // "1: POSIX  ADVISORY  WRITE 3548 fd:01:1234 1073741825 1073741825"
  for (std::string line; std::getline(locks, line);) {
    std::istringstream words(line);
    std::string number, kind, advisory, mode, place;
    int64_t process = 0;
    int64_t first = 0;
    words >> number >> kind >> advisory >> mode >> process >> place >> first;
    if (!words || mode != "WRITE" || !place.ends_with(inode) || first < kFirstLockedByte) continue;
    if (process <= 0) continue;  // of another container
    std::ifstream stream(fmt::format("/proc/{}/comm", process));
    std::string name;
    std::getline(stream, name);
    return fmt::format("; process {}{} has locked it", process,
                       name.empty() ? "" : " (" + name + ")");
  }
  return "";
}

constexpr std::array kLogSuffixes{"-journal", "-wal"};

// A log of the file. SQLite looks for it beside the target of a link.
std::filesystem::path beside(const std::filesystem::path& file, const char* suffix) {
  std::error_code error;
  return std::filesystem::weakly_canonical(file, error) += suffix;
}

// Opening a pipe would wait for a writer, forever.
void require_regular(const std::filesystem::path& file) {
  std::error_code error;
  const std::filesystem::file_status status = std::filesystem::status(file, error);
  require(!std::filesystem::exists(status) || std::filesystem::is_regular_file(status),
          "'{}': it is not a regular file", file.string());
}

}  // namespace

std::optional<std::string> foreign_owner_of_log(const std::filesystem::path& file) {
  for (const char* suffix : kLogSuffixes) {
    if (auto owner = foreign_owner(beside(file, suffix))) return owner;
  }
  return std::nullopt;
}

bool is_locked_for_writing(const std::filesystem::path& file) { return !holder_text(file).empty(); }

bool may_recover(const std::filesystem::path& file) {
  if (access(file.c_str(), W_OK) != 0) return false;
  if (foreign_owner(file) || is_writable_by_all(file)) return false;
  return std::ranges::none_of(kLogSuffixes, [&](const char* suffix) {
    const std::filesystem::path log = beside(file, suffix);
    return foreign_owner(log) || is_writable_by_all(log);
  });
}

bool has_rollback_journal(const std::filesystem::path& file) {
  std::error_code error;
  return std::filesystem::exists(beside(file, "-journal"), error);
}

void Statement::Finalize::operator()(sqlite3_stmt* statement) const { sqlite3_finalize(statement); }

Statement::Statement(const Database& database, std::string_view sql) : database_(&database) {
  sqlite3_stmt* made = nullptr;
  const int code = sqlite3_prepare_v2(database.database_.get(), sql.data(),
                                      static_cast<int>(sql.size()), &made, nullptr);
  statement_.reset(made);
  check(code);
}

void Statement::check(int code) const {
  if (code != SQLITE_OK) database_->fail_with(code);
}

Statement& Statement::bind(int64_t value) {
  check(sqlite3_bind_int64(statement_.get(), ++bound_, value));
  return *this;
}

Statement& Statement::bind(double value) {
  check(sqlite3_bind_double(statement_.get(), ++bound_, value));
  return *this;
}

Statement& Statement::bind(std::string_view value) {
  // An empty view may have a null pointer, which SQLite would store as NULL.
  check(sqlite3_bind_text64(statement_.get(), ++bound_, value.empty() ? "" : value.data(),
                            value.size(), SQLITE_TRANSIENT, SQLITE_UTF8));
  return *this;
}

Statement& Statement::bind(std::nullptr_t) {
  check(sqlite3_bind_null(statement_.get(), ++bound_));
  return *this;
}

bool Statement::step() {
  const int code = sqlite3_step(statement_.get());
  if (code == SQLITE_ROW) return true;
  if (code != SQLITE_DONE) {
    // Without a reset, which would change the connection's error message.
    database_->fail_with(code);
  }
  return false;
}

void Statement::run() {
  while (step()) {
  }
  reset();
}

void Statement::reset() {
  sqlite3_reset(statement_.get());
  bound_ = 0;
}

int64_t Statement::integer(int column) const {
  return sqlite3_column_int64(statement_.get(), column);
}

double Statement::real(int column) const { return sqlite3_column_double(statement_.get(), column); }

std::string Statement::text(int column) const {
  const auto* const bytes = sqlite3_column_text(statement_.get(), column);
  const auto size = static_cast<size_t>(sqlite3_column_bytes(statement_.get(), column));
  return bytes == nullptr ? std::string() : std::string(reinterpret_cast<const char*>(bytes), size);
}

bool Statement::is_null(int column) const {
  return sqlite3_column_type(statement_.get(), column) == SQLITE_NULL;
}

void Database::Close::operator()(sqlite3* database) const { sqlite3_close_v2(database); }

Database::Database(const std::filesystem::path& file, Access access, int busy_ms)
    : file_(file), longest_wait_(busy_ms) {
  require_regular(file);
  for (const char* suffix : kLogSuffixes) require_regular(beside(file, suffix));
  sqlite3* opened = nullptr;
  // Absolute, because SQLite gives names that begin with "file:" or ":memory:" another meaning.
  const int code = sqlite3_open_v2(std::filesystem::absolute(file).c_str(), &opened,
                                   flags_of(access) | SQLITE_OPEN_NOMUTEX, nullptr);
  database_.reset(opened);
  if (code != SQLITE_OK) fail_with(code);
  sqlite3_extended_result_codes(opened, 1);
  sqlite3_busy_handler(opened, wait_for_lock, this);
  harden(opened);
}

// SQLite's own handler soon sleeps for a tenth of a second. Where many processes write, the file is
// free for a few milliseconds at a time, and one that looks so rarely waits in vain. Pauses have
// random lengths, lest two processes keep meeting.
int Database::wait_for_lock(void* database, int tries) {
  constexpr int64_t kShortestUs = 300;
  constexpr int64_t kLongestUs = 3000;
  auto& self = *static_cast<Database*>(database);
  const auto now = std::chrono::steady_clock::now();
  if (tries == 0) self.waiting_since_ = now;
  if (now - self.waiting_since_ >= self.longest_wait_) return 0;
  // The low digits of the clock differ between processes.
  const int64_t noise = now.time_since_epoch().count() / 100 % (kLongestUs - kShortestUs);
  std::this_thread::sleep_for(std::chrono::microseconds(kShortestUs + noise));
  return 1;
}

bool Database::has_write_ahead_mode() const {
  // https://www.sqlite.org/fileformat.html: byte 19 of the header is the read version, 2 for WAL.
  // Read by SQLite's descriptor: closing another one of the file would release all locks that this
  // process has on it. Before the first query, which would create the files of the log.
  constexpr sqlite3_int64 kReadVersion = 19;
  sqlite3_file* file = nullptr;
  sqlite3_file_control(database_.get(), "main", SQLITE_FCNTL_FILE_POINTER,
                       static_cast<void*>(&file));
  char version = 0;
  return file != nullptr && file->pMethods != nullptr &&
         file->pMethods->xRead(file, &version, 1, kReadVersion) == SQLITE_OK && version == 2;
}

void Database::require_plain(std::string_view table) const {
  const auto fail_if = [&](bool is_computed, std::string_view what) {
    require(!is_computed, "'{}': its table '{}' has {}: it was not made by this product",
            file_.string(), table, what);
  };
  constexpr int kHidden = 6;  // of PRAGMA table_xinfo
  Statement columns = prepare(fmt::format("PRAGMA table_xinfo({})", table));
  while (columns.step()) fail_if(columns.integer(kHidden) != 0, "generated columns");
  constexpr int kName = 1, kUnique = 2, kPartial = 4;  // of PRAGMA index_list
  Statement indexes = prepare(fmt::format("PRAGMA index_list({})", table));
  while (indexes.step()) {
    fail_if(indexes.integer(kUnique) != 0, "unique columns");
    fail_if(indexes.integer(kPartial) != 0, "an index with a condition");
    std::string quoted;
    for (const char c : indexes.text(kName)) quoted += c == '"' ? "\"\"" : std::string(1, c);
    constexpr int kColumn = 1, kExpression = -2;  // of PRAGMA index_xinfo
    Statement parts = prepare(fmt::format("PRAGMA index_xinfo(\"{}\")", quoted));
    while (parts.step()) fail_if(parts.integer(kColumn) == kExpression, "an index of expressions");
  }
}

void Database::run(std::string_view sql) {
  const int code =
      sqlite3_exec(database_.get(), std::string(sql).c_str(), nullptr, nullptr, nullptr);
  if (code != SQLITE_OK) fail_with(code);
}

Statement Database::first_row(std::string_view sql) const {
  Statement query = prepare(sql);
  require(query.step(), "'{}': '{}' returned no row", file_.string(), sql);
  return query;
}

void Database::fail_with(int code) const {
  std::string cause = database_ ? sqlite3_errmsg(database_.get()) : sqlite3_errstr(code);
  const int system = database_ ? sqlite3_system_errno(database_.get()) : 0;
  const bool told_by_system = (code & 0xff) == SQLITE_CANTOPEN || (code & 0xff) == SQLITE_IOERR;
  if (system != 0 && told_by_system) cause += fmt::format(" ({})", std::strerror(system));
  if ((code & 0xff) == SQLITE_BUSY) cause += holder_text(file_);
  fail("'{}': {}{}", file_.string(), cause, advice(code));
}

void Database::undo() noexcept {
  sqlite3_exec(database_.get(), "ROLLBACK", nullptr, nullptr, nullptr);
}

}  // namespace aoe

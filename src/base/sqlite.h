#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

struct sqlite3;
struct sqlite3_stmt;

namespace aoe {

class Database;

// A prepared SQL statement: bind its parameters in order, step through its rows, reset, repeat.
class Statement {
 public:
  // Binds the next parameter, in the order of the question marks; reset() starts over at the first.
  Statement& bind(int64_t value);
  Statement& bind(double value);
  Statement& bind(std::string_view value);
  Statement& bind(std::nullptr_t);
  template <typename Value>
  Statement& bind(const std::optional<Value>& value) {
    return value ? bind(*value) : bind(nullptr);
  }

  // Advances to the next row; false if there is none.
  bool step();
  // Executes a statement without results, and resets it.
  void run();
  void reset();

  // Columns of the current row. Other types are converted, NULL to 0 or "".
  int64_t integer(int column) const;
  double real(int column) const;
  std::string text(int column) const;
  bool is_null(int column) const;

 private:
  friend class Database;
  struct Finalize {
    void operator()(sqlite3_stmt* statement) const;
  };
  Statement(const Database& database, std::string_view sql);
  void check(int code) const;

  const Database* database_;
  std::unique_ptr<sqlite3_stmt, Finalize> statement_;
  int bound_ = 0;
};

// An open SQLite file. Every failure is an Error that names the file. To be used by one thread at a
// time, and never across a fork.
//
// The file need not be trusted: views, triggers and virtual tables in it are never used.
class Database {
 public:
  enum class Access {
    read,    // the file must exist; nothing is ever created or changed
    write,   // the file must exist
    create,  // a missing file is created; its folder must exist
  };

  // Every operation waits up to `busy_ms` for locks of other processes.
  Database(const std::filesystem::path& file, Access access, int busy_ms = 10000);
  Database(Database&&) = delete;  // statements point at it

  void run(std::string_view sql);  // statements without rows
  Statement prepare(std::string_view sql) const { return {*this, sql}; }
  // The first column of the only row of a query: "PRAGMA user_version".
  int64_t integer(std::string_view sql) const { return first_row(sql).integer(0); }
  std::string text(std::string_view sql) const { return first_row(sql).text(0); }

  // Fails if reading or writing the table computes anything: generated columns, indexes of
  // expressions, conditions and unique columns run what the author of the file wrote.
  void require_plain(std::string_view table) const;

  // Whether the file asks for a write-ahead log, with which readers create files beside it.
  bool has_write_ahead_mode() const;

  // Rolls back the open transaction, if any: SQLite may have done so already, for instance on a
  // full disk.
  void undo() noexcept;

  const std::filesystem::path& file() const { return file_; }

 private:
  friend class Statement;
  struct Close {
    void operator()(sqlite3* database) const;
  };
  Statement first_row(std::string_view sql) const;
  // SQLite's busy handler: whether to try again for the lock, after a pause.
  static int wait_for_lock(void* database, int tries);
  [[noreturn]] void fail_with(int code) const;

  std::filesystem::path file_;
  std::chrono::milliseconds longest_wait_;
  std::chrono::steady_clock::time_point waiting_since_;
  std::unique_ptr<sqlite3, Close> database_;
};

// Whether a reader may open the file for writing in order to recover it, after a writer was killed:
// it has write permission, and the file and the logs beside it belong to this user or root and
// cannot be written by everybody. A rollback journal can name any file as its super-journal, which
// SQLite deletes after the recovery, so that of a stranger is never used.
bool may_recover(const std::filesystem::path& file);

// The owner of a log beside the file (its rollback journal, its write-ahead log) who is neither
// this process's user nor root. Whoever opens the file for writing executes its logs.
std::optional<std::string> foreign_owner_of_log(const std::filesystem::path& file);

// Whether a process of this machine holds one of SQLite's locks for writing on the file.
bool is_locked_for_writing(const std::filesystem::path& file);

// Whether the file has a rollback journal: of a transaction in progress or of a killed writer.
bool has_rollback_journal(const std::filesystem::path& file);

// A write transaction: other processes see all of its changes or none, and without commit() they
// are rolled back. Holds SQLite's write lock from its construction on.
class Transaction {
 public:
  explicit Transaction(Database& database) : database_(&database) {
    database_->run("BEGIN IMMEDIATE");
  }
  ~Transaction() {
    if (database_ != nullptr) database_->undo();
  }
  Transaction(const Transaction&) = delete;
  Transaction& operator=(const Transaction&) = delete;

  void commit() {
    database_->run("COMMIT");
    database_ = nullptr;
  }

 private:
  Database* database_;
};

// A read transaction: its queries all see the file as it was at the first of them.
class ReadTransaction {
 public:
  explicit ReadTransaction(Database& database) : database_(database) { database_.run("BEGIN"); }
  ~ReadTransaction() { database_.undo(); }
  ReadTransaction(const ReadTransaction&) = delete;
  ReadTransaction& operator=(const ReadTransaction&) = delete;

 private:
  Database& database_;
};

}  // namespace aoe

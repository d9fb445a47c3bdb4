#pragma once

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

// One SQL statement, prepared once: bind its parameters in order, step through its rows, and again.
class Statement {
 public:
  // In the order of the statement's question marks; the next after a reset() is the first again.
  Statement& bind(int64_t value);
  Statement& bind(double value);
  Statement& bind(std::string_view value);
  Statement& bind(std::nullptr_t);
  template <typename Value>
  Statement& bind(const std::optional<Value>& value) {
    return value ? bind(*value) : bind(nullptr);
  }

  // Whether there is another row.
  bool step();
  // For a statement without rows: steps, and resets it.
  void run();
  void reset();

  // Of the row at hand; what is of another type is converted, NULL to 0 or nothing.
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

// An SQLite file. What goes wrong is an Error that names the file. One thread at a time, and never
// across a fork.
class Database {
 public:
  enum class Access {
    read,    // the file must be there; nothing is ever created or changed
    write,   // the file must be there
    create,  // an empty one is made where there is none; its folder must be there
  };

  // Waits up to `busy_ms` for what other processes are in the middle of.
  Database(const std::filesystem::path& file, Access access, int busy_ms = 10000);
  Database(Database&&) = delete;  // statements point at it

  void run(std::string_view sql);  // statements without rows
  Statement prepare(std::string_view sql) const { return {*this, sql}; }
  // The first column of the only row of a query: "PRAGMA user_version".
  int64_t integer(std::string_view sql) const { return first_row(sql).integer(0); }
  std::string text(std::string_view sql) const { return first_row(sql).text(0); }

  // Ends a transaction, if there is one: SQLite may have ended it already, on a full disk for
  // instance.
  void undo() noexcept;

  const std::filesystem::path& file() const { return file_; }

 private:
  friend class Statement;
  struct Close {
    void operator()(sqlite3* database) const;
  };
  Statement first_row(std::string_view sql) const;
  [[noreturn]] void fail_with(int code) const;

  std::filesystem::path file_;
  std::unique_ptr<sqlite3, Close> database_;
};

// Changes that other processes see all at once, or never: what is not committed is undone. It has
// the file to itself for writing from its first moment on.
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

// Several queries that all see the file as it was at the first of them.
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

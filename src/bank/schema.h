#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "bank/entry.h"
#include "base/sqlite.h"

// The tables of a bank (docs/bank.md) and the rows in them. Version 1 lacks some columns: it is
// read with defaults for them, and gets them when it is next written.

namespace aoe {

// An entry as stored in a bank. An entry that is not good has a `problem`: it counts as missing,
// but is never deleted.
struct StoredEntry {
  enum class State : uint8_t {
    good,
    newer,    // in a format that only a later version understands
    foreign,  // for another processor than the file
    damaged,  // its key or checksum does not match, or its gain is impossible
  };

  int64_t id = 0;
  State state = State::good;
  std::string problem;
  BankEntry entry;

  bool is_good() const { return state == State::good; }
};

inline constexpr int64_t kFirstSchema = 1;
inline constexpr int64_t kSchema = 2;

// Whether the figures of an entry can be: finite, positive, and the bounds in order.
bool is_plausible(const BankEntry& entry);

// The class of algorithms of this name, if there is one.
std::optional<Numerics> class_named(std::string_view name);

bool is_empty(const Database& database);

// Fails if the database is not a bank of a known version. Returns its version.
int64_t schema_of(const Database& database);

// To be called in a transaction.
void create_tables(Database& database, const std::string& soc_version);
// Turns a bank of version 1 into one of this version, in a transaction. Entries that are newer or
// damaged stay as they are.
void migrate(Database& database, const std::string& soc_version);

// The text of a query for the columns of the entries.
std::string selection_of_entries(const Database& database, std::string_view rest);

// A query for entries, with parameters and rows as a Statement has them. It knows the version of
// the tables as they are when it is made, so it must not outlive the transaction that it is made
// in.
class EntryQuery {
 public:
  // `rest` follows the columns: "WHERE key = ? ORDER BY id". `soc_version` is that of the bank.
  EntryQuery(const Database& database, std::string soc_version, std::string_view rest);

  Statement& parameters() {
    statement_.reset();
    return statement_;
  }
  bool step() { return statement_.step(); }
  // The entry of the current row.
  StoredEntry entry() const;

 private:
  const Database& database_;
  std::string soc_version_;
  int64_t schema_;
  Statement statement_;
};

Statement insertion(const Database& database);
// An update whose last parameter is the id.
Statement replacement(const Database& database);
void bind_entry(Statement& statement, const BankEntry& entry);

}  // namespace aoe

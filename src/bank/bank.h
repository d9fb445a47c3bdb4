#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "bank/entry.h"
#include "bank/places.h"
#include "base/sqlite.h"

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
};

// The result of a lookup: the good entry, if there is one, and the problems of others with its key.
struct LookupResult {
  std::optional<BankEntry> entry;
  std::vector<std::string> problems;
};

// A Bank is an SQLite file of the policies proven best, by workload, for one kind of processor;
// docs/bank.md describes its tables. Several processes may read and write it at once, and a killed
// one leaves it consistent. Only one thread at a time may use a Bank.
class Bank {
 public:
  // Nothing if the file is missing or empty. Fails if it is not a bank or was made by a later
  // version. Changes nothing, except that it rolls back the transaction of a killed writer if it
  // may (may_recover). A bank that every user may write to is read with a warning.
  static std::optional<Bank> for_reading(const std::filesystem::path& file);
  // Creates the file and its folders if they are missing. Fails as for_reading does, and for a bank
  // of another processor.
  static Bank for_writing(const std::filesystem::path& file, const std::string& soc_version);
  // The custom bank of these places. In the default place, below HOME, fails for a bank that
  // belongs to neither this user nor root.
  static Bank for_writing(const BankPlaces& places, const std::string& soc_version);

  // The entries for these texts of workloads, in one read transaction. A workload may have an entry
  // of each class of algorithms: the one of the largest class up to `allowed` is found, because it
  // was proven against those below.
  std::vector<LookupResult> find(const std::vector<std::string>& workloads, const Target& target,
                                 Numerics allowed = Numerics::strassen) const;
  // All entries, in insertion order.
  std::vector<StoredEntry> entries() const;

  // Adds an entry that was proven faster than what `find` gives for its workload, target and
  // `allowed`, and replaces those that it makes useless: of its class up to `allowed`. `baseline`
  // is the policy in the bank that it was proven against, if there was one. Returns false and
  // changes nothing if another process has written a different entry meanwhile.
  bool put(const BankEntry& entry, const std::optional<std::string>& baseline,
           Numerics allowed = Numerics::strassen);

  const std::filesystem::path& file() const { return database_->file(); }
  const std::string& soc_version() const { return soc_version_; }

 private:
  friend std::vector<std::string> problems_of(const Bank& bank);
  Bank(std::unique_ptr<Database> database, std::string soc_version)
      : database_(std::move(database)), soc_version_(std::move(soc_version)) {}
  StoredEntry stored(const Statement& row) const;
  LookupResult find(Statement& select, const std::string& workload, const Target& target,
                    Numerics allowed) const;

  std::unique_ptr<Database> database_;
  std::string soc_version_;
};

// Problems of a bank, one sentence each: damage to the file or to entries, texts that do not parse,
// duplicates.
std::vector<std::string> problems_of(const Bank& bank);

// The key of a workload's text: its hash as 16 hexadecimal digits.
std::string key_text(const std::string& workload);

}  // namespace aoe

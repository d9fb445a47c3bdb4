#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "bank/entry.h"
#include "bank/join.h"
#include "bank/places.h"
#include "bank/schema.h"
#include "bank/transfer_seeds.h"
#include "base/function_ref.h"
#include "base/sqlite.h"

namespace aoe {

// The result of a lookup: the good entry with a policy, if there is one, and the problems of others
// with its key.
struct LookupResult {
  std::optional<BankEntry> entry;
  // Other good entries with policies that may be used, in case that one is not valid here: in the
  // order of preference.
  std::vector<BankEntry> others;
  // What is remembered of tuning without gain, with these algorithms at least.
  std::vector<BankEntry> no_gain;
  // If there is no entry: the largest class that a policy needs and that is not allowed.
  std::optional<Numerics> not_allowed;
  std::vector<std::string> problems;
};

// A Bank is an SQLite file of what tuning has found, by workload, for one kind of processor;
// docs/bank.md describes its tables. Several processes may read and write it at once, and a killed
// one leaves it consistent. Only one thread at a time may use a Bank. BankWriter changes one.
class Bank {
 public:
  // Nothing if the file is missing or empty. Fails if it is not a bank or was made by a later
  // version. Changes nothing, except that it rolls back the transaction of a killed writer if it
  // may (may_recover). A bank that every user may write to is read with a warning. If another
  // process has locked it, `waits` a few seconds.
  static std::optional<Bank> for_reading(const std::filesystem::path& file, bool waits = true);
  // Creates the file and its folders if they are missing. Fails as for_reading does, and for a bank
  // of another processor.
  static Bank for_writing(const std::filesystem::path& file, const std::string& soc_version);
  // The custom bank of these places that is written. In the default place, below HOME, fails for a
  // bank that belongs to neither this user nor root.
  static Bank for_writing(const BankPlaces& places, BankKind kind, const std::string& soc_version);

  // The entries for these texts of workloads, in one read transaction. A workload may have an entry
  // for each class of algorithms that was allowed when it was tuned. Of those whose policies need
  // no more than `allowed`, the one that was tuned for `allowed` is found, else one for a larger
  // class, which was proven against a better default, else the one for the next smaller class.
  std::vector<LookupResult> find(const std::vector<std::string>& workloads, const Target& target,
                                 Numerics allowed = Numerics::strassen) const;

  // Calls `visit` with every entry, in insertion order, in one read transaction.
  void for_each(FunctionRef<void(StoredEntry&&)> visit) const;
  std::vector<StoredEntry> entries() const;
  // The good entry with each of these keys, in one read transaction.
  std::vector<std::optional<BankEntry>> exact(const std::vector<EntryKey>& keys) const;

  // Good policies for other shapes of the operators of these workloads, without those of graphs.
  std::vector<TransferSeed> other_shapes(const std::vector<std::string>& workloads,
                                         const Target& target) const;

  // Stores a policy instead of `baseline`, the policy that `find` gave for its workload, target and
  // class, if it gave one: it was proven faster, or `baseline` is not valid here. Returns false and
  // changes nothing if another process has written a different entry meanwhile.
  bool put(const BankEntry& entry, const std::optional<std::string>& baseline);
  // Merges entries (bank/join.h) in one transaction.
  void merge(const std::vector<BankEntry>& entries);

  // For other queries (bank/listing.cpp): the file, a query for entries and its text, to be used in
  // a transaction.
  Database& database() const { return *database_; }
  EntryQuery query(std::string_view rest) const { return {*database_, soc_version_, rest}; }
  std::string selection(std::string_view rest) const {
    return selection_of_entries(*database_, rest);
  }

  const std::filesystem::path& file() const { return database_->file(); }
  const std::string& soc_version() const { return soc_version_; }

 private:
  friend class BankWriter;
  friend std::vector<std::string> problems_of(const Bank& bank);
  Bank(std::unique_ptr<Database> database, std::string soc_version)
      : database_(std::move(database)), soc_version_(std::move(soc_version)) {}

  // As `find`, in the transaction that is open.
  static LookupResult find(EntryQuery& by_key, const std::string& workload, const Target& target,
                           Numerics allowed);

  std::unique_ptr<Database> database_;
  std::string soc_version_;
};

// Problems of a bank, one sentence each: damage to the file or to entries, texts that do not parse,
// duplicates.
std::vector<std::string> problems_of(const Bank& bank);

}  // namespace aoe

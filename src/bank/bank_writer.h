#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "bank/bank.h"
#include "bank/join.h"

namespace aoe {

// What became of an entry that was merged into a bank.
enum class Joined : uint8_t {
  added,    // the bank had none for its workload, target and class
  updated,  // the bank's entry changed, be it only by its evidence
  kept,     // the bank's entry says all of it already
};

// A BankWriter is a write transaction of a bank: other processes see all of its changes or none,
// and without commit() they are undone. It migrates a bank of an earlier version.
class BankWriter {
 public:
  explicit BankWriter(Bank& bank);

  // Merges the entry with the bank's.
  Joined join(const BankEntry& entry);
  // Stores the entry instead of the bank's, with the names and evidence of both.
  void replace(const BankEntry& entry);
  // Removes the entry, if the bank still has it as it was read; whether it did.
  bool remove(const StoredEntry& entry);

  void commit() { transaction_.commit(); }

 private:
  // The bank's entries with this key; more than one only if another program made them.
  std::vector<StoredEntry> stored(const EntryKey& key);
  void remove_row(int64_t id);
  void write(const BankEntry& entry, const std::vector<StoredEntry>& instead_of);

  Bank& bank_;
  Transaction transaction_;
  std::optional<EntryQuery> by_key_;
  std::optional<Statement> insert_, replace_, remove_;
};

}  // namespace aoe

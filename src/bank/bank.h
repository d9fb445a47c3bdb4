#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "bank/entry.h"
#include "base/sqlite.h"

namespace aoe {

// An entry as a bank has it. What is wrong with it is said in `problem`: such an entry counts as
// not there, but stays.
struct StoredEntry {
  enum class State : uint8_t {
    good,
    newer,    // made by a later version, which alone knows what it says
    foreign,  // of another processor than its file is for
    damaged,
  };

  int64_t id = 0;
  State state = State::good;
  std::string problem;
  BankEntry entry;
};

// A bank's policy for a workload, or why what is there does not count.
struct Found {
  std::optional<BankEntry> entry;
  std::vector<std::string> problems;
};

// A bank: a file of the policies that were proven best, by workload, on one kind of processor;
// docs/bank.md has its tables. Several processes may read and write it at once, and one that is
// killed leaves it whole. One thread at a time.
class Bank {
 public:
  // Nothing where there is no file, or one that nobody has written to yet. Fails for what is no
  // bank, and for one that a later version has made. Changes nothing, except that it undoes what a
  // killed writer had begun.
  static std::optional<Bank> for_reading(const std::filesystem::path& file);
  // Makes the file, and the folders it is in, where they are missing. Fails for another processor's
  // too.
  static Bank for_writing(const std::filesystem::path& file, const std::string& soc_version);

  // For each text of a workload, all as of one moment.
  std::vector<Found> find(const std::vector<std::string>& workloads, const Target& target) const;
  // All of them, in the order in which they were added.
  std::vector<StoredEntry> entries() const;

  // Adds the entry, or replaces the one of the same workload and target. `baseline` is the policy
  // in the bank that it was proven better than, nothing where none was there. If another process
  // has written something else meanwhile, nothing changes: false.
  bool put(const BankEntry& entry, const std::optional<std::string>& baseline);

  const std::filesystem::path& file() const { return database_->file(); }
  const std::string& soc_version() const { return soc_version_; }

 private:
  friend std::vector<std::string> problems_of(const Bank& bank);
  Bank(std::unique_ptr<Database> database, std::string soc_version)
      : database_(std::move(database)), soc_version_(std::move(soc_version)) {}
  StoredEntry stored(const Statement& row) const;
  Found find(Statement& select, const std::string& workload, const Target& target,
             int64_t* id = nullptr) const;

  std::unique_ptr<Database> database_;
  std::string soc_version_;
};

// Whatever is damaged in a bank: its file, its entries, and what their texts say.
std::vector<std::string> problems_of(const Bank& bank);

// What a workload's text is found by: the key of the workload as 16 hexadecimal digits.
std::string key_text(const std::string& workload);

}  // namespace aoe

#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "bank/bank_writer.h"

namespace aoe {

// Entries by what they are merged by.
using EntryMap = std::map<EntryKey, BankEntry>;

// What became of the entries of a merge, or would.
struct MergeReport {
  int64_t added = 0;
  int64_t updated = 0;  // of these, some only have more evidence
  int64_t kept = 0;
};

// Two different policies for one key: the better proven one is taken. `decide` may measure both:
// it returns the one that is to be the better proven, or nullopt. It is asked before the bank is
// locked.
struct Conflict {
  BankEntry ours;    // of the bank that is merged into, or of an earlier source
  BankEntry theirs;  // of a source
};
using Decide = std::function<std::optional<BankEntry>(const Conflict&)>;

// The good entries of banks, joined. Adds the problems of others to `skipped`; they stay where they
// are. Fails if a bank cannot be read, or if the banks are for different processors, naming both.
EntryMap joined_entries(const std::vector<std::filesystem::path>& files,
                        std::vector<std::string>& skipped, const Decide& decide = {});

// The entries of an export: one line each (line_of). Adds problems of lines to `skipped`.
EntryMap imported_entries(const std::string& text, const std::string& place,
                          std::vector<std::string>& skipped);

// The good entries of a bank as such a text, in the order of their keys.
std::string export_text(const Bank& bank, std::vector<std::string>& skipped);

// Replaces a file by an export. Fails if the file is a database, such as a bank.
void write_export(const std::filesystem::path& file, const std::string& text);

// Merges entries into the bank of a file, in one transaction; makes the bank if it is missing. With
// `dry_run` nothing changes, and the report says what would. Fails if the bank is for another
// processor.
MergeReport merge_into(const std::filesystem::path& file, const EntryMap& entries, bool dry_run,
                       const Decide& decide = {});

// A key at which two banks differ.
struct Difference {
  std::optional<BankEntry> first, second;
};
// The keys at which the good entries of two banks differ in more than evidence and names.
std::vector<Difference> differences(const EntryMap& first, const EntryMap& second);

}  // namespace aoe

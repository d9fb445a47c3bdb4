#pragma once

#include <CLI/CLI.hpp>
#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "bank/bank.h"

// What the sub-commands of `aoe bank` share: the bank that they are about, and printing.

namespace aoe {

struct BankOptions {
  std::string file;  // --bank
  bool graphs = false;
  bool json = false;
};

// Refuses an empty text as the name of a file, as from a variable that is not set.
CLI::Validator is_named();
// Declares --bank and --graphs.
void add_file_options(CLI::App& command, BankOptions& options);

// The bank that --bank names, or the one that tuning writes on this machine.
std::filesystem::path file_of(const BankOptions& options);

// Opens a bank for reading; nothing for an empty file. Fails if there is no file.
std::optional<Bank> opened_bank(const std::filesystem::path& file);

// The names of its nodes, or the key of its workload.
std::string title_of(const BankEntry& entry);

// "1.234 times as fast (1.200 to 1.260)"; for an entry without a policy, what was tried.
std::string gain_text(const BankEntry& entry);

// Whether the entry was made by another version or on a processor that differs from this one.
bool is_aged_here(const BankEntry& entry);

nlohmann::ordered_json json_of(const StoredEntry& stored);
void print_json(const nlohmann::ordered_json& json);

// Logs what was skipped, and how many there are if these are more than a few.
void warn_of_skipped(const std::vector<std::string>& skipped);

}  // namespace aoe

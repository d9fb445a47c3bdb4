#pragma once

#include <filesystem>
#include <string>

#include "base/environment.h"

namespace aoe {

// The files of a processor's banks: the custom bank, written by tuning, and the built-in bank,
// shipped with the product. A path is empty if there is no place for the bank (no HOME) or it is
// disabled (AOE_BUILTIN=off).
struct BankPlaces {
  std::filesystem::path custom;
  std::filesystem::path builtin;
  // The environment variable that determines `custom` (TUNE_BANK_PATH, ASCEND_CACHE_PATH or HOME)
  // and its value. A folder that TUNE_BANK_PATH names must exist.
  std::string variable;
  std::filesystem::path root;
};

BankPlaces operator_banks(const std::string& soc_version,
                          const Environment& environment = process_environment);

// The file of the custom bank that loading a model looks up. Fails if no place is set.
std::filesystem::path custom_bank(const std::string& soc_version);

}  // namespace aoe

#pragma once

#include <filesystem>
#include <string>

#include "base/environment.h"

namespace aoe {

// The files of a processor's operator banks: what tuning has written (custom), and what came with
// the product (built-in). Empty where there is none: no home folder, or AOE_BUILTIN=off.
struct BankPlaces {
  std::filesystem::path custom;
  std::filesystem::path builtin;
  // The variable that says where the custom bank is, "TUNE_BANK_PATH", and what it is set to: a
  // folder that must be there.
  std::string variable;
  std::filesystem::path root;
};

BankPlaces operator_banks(const std::string& soc_version,
                          const Environment& environment = process_environment);

// The file of the custom bank that loading a model looks into. Fails where no place is set.
std::filesystem::path custom_bank(const std::string& soc_version);

}  // namespace aoe

#include "bank/places.h"

#include "base/error.h"
#include "base/installation.h"

namespace aoe {

BankPlaces operator_banks(const std::string& soc_version, const Environment& environment) {
  namespace fs = std::filesystem;
  struct Place {
    const char* variable;
    fs::path below;
  };
  const Place places[] = {{"TUNE_BANK_PATH", ""},
                          {"ASCEND_CACHE_PATH", "aoe_data"},
                          {"HOME", fs::path("Ascend/latest/data/aoe/custom/op")}};
  const fs::path file = fs::path(soc_version) / "op.db";
  BankPlaces result;
  for (const auto& [variable, below] : places) {
    const std::string root = environment(variable);
    if (root.empty()) continue;
    result = {.custom = root / below / file, .variable = variable, .root = root};
    break;
  }
  const fs::path installation = installation_folder();
  if (environment("AOE_BUILTIN") != "off" && !installation.empty()) {
    result.builtin = installation / "builtin" / "op" / file;
  }
  return result;
}

std::filesystem::path custom_bank(const std::string& soc_version) {
  const std::filesystem::path file = operator_banks(soc_version).custom;
  require(!file.empty(), "there is no place for banks: neither TUNE_BANK_PATH nor HOME is set");
  return file;
}

}  // namespace aoe

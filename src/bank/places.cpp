#include "bank/places.h"

#include <fmt/format.h>

#include "base/error.h"
#include "base/installation.h"

namespace aoe {
namespace {

namespace fs = std::filesystem;

// The folders that a variable names. Only TUNE_BANK_PATH names several.
std::vector<fs::path> folders_in(const std::string& value, bool is_list) {
  if (!is_list) return {value};
  std::vector<fs::path> folders;
  for (size_t at = 0; at < value.size();) {
    const size_t end = std::min(value.find(':', at), value.size());
    if (end > at) folders.emplace_back(value.substr(at, end - at));
    at = end + 1;
  }
  return folders;
}

void add_files(std::vector<fs::path>& files, const std::vector<BankFiles>& layers, BankKind kind) {
  for (const BankFiles& layer : layers) {
    files.push_back(layer[static_cast<size_t>(kind)]);
    if (kind == BankKind::graphs) files.push_back(layer[static_cast<size_t>(BankKind::operators)]);
  }
}

}  // namespace

fs::path BankPlaces::written(BankKind kind) const {
  return custom.empty() ? fs::path() : custom[0][static_cast<size_t>(kind)];
}

std::vector<fs::path> BankPlaces::read_custom(BankKind kind) const {
  std::vector<fs::path> files;
  add_files(files, custom, kind);
  return files;
}

std::vector<fs::path> BankPlaces::read(BankKind kind) const {
  std::vector<fs::path> files = read_custom(kind);
  add_files(files, builtin, kind);
  return files;
}

BankPlaces bank_places(const std::string& soc_version, const Environment& environment) {
  // Below HOME the two kinds have folders of their own; elsewhere the names of their files differ.
  struct Place {
    const char* variable;
    fs::path operators, graphs;
  };
  const Place places[] = {
      {"TUNE_BANK_PATH", "", ""},
      {"ASCEND_CACHE_PATH", "aoe_data", "aoe_data"},
      {"HOME", "Ascend/latest/data/aoe/custom/op", "Ascend/latest/data/aoe/custom/graph"}};
  const fs::path op_file = fs::path(soc_version) / "op.db";
  const fs::path graph_file = fs::path(soc_version) / "graph.db";
  BankPlaces result;
  for (const auto& [variable, operators, graphs] : places) {
    const std::string value = environment(variable);
    if (value.empty()) continue;
    result.variable = variable;
    result.roots = folders_in(value, result.variable == "TUNE_BANK_PATH");
    for (const fs::path& root : result.roots) {
      result.custom.push_back({root / operators / op_file, root / graphs / graph_file});
    }
    break;
  }
  const fs::path installation = installation_folder();
  const std::string use_builtin = environment("AOE_BUILTIN");
  if (!use_builtin.empty() && use_builtin != "on" && use_builtin != "off") {
    result.problem = fmt::format(
        "AOE_BUILTIN is '{}', which is neither 'on' nor 'off': the built-in bank is used",
        use_builtin);
  }
  if (use_builtin != "off" && !installation.empty()) {
    const fs::path builtin = installation / "builtin";
    result.builtin.push_back({builtin / "op" / op_file, builtin / "graph" / graph_file});
  }
  return result;
}

fs::path custom_bank(BankKind kind, const std::string& soc_version) {
  const BankPlaces places = bank_places(soc_version);
  require(!places.variable.empty(),
          "there is no place for banks: neither TUNE_BANK_PATH nor HOME is set");
  require(!places.custom.empty(), "{} names no folder", places.variable);
  require(places.variable != "TUNE_BANK_PATH" || fs::is_directory(places.roots[0]),
          "TUNE_BANK_PATH is '{}', which is not a folder", places.roots[0].string());
  return places.written(kind);
}

}  // namespace aoe

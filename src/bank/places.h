#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "base/environment.h"

namespace aoe {

// The two banks of a place: policies of workloads (op.db), and layouts of graphs (graph.db).
enum class BankKind : uint8_t { operators, graphs };

// The files of the two banks of a place, by BankKind.
using BankFiles = std::array<std::filesystem::path, 2>;

// The banks of a processor: layers of custom banks, of which tuning writes the first, and the
// built-in banks, shipped with the product.
struct BankPlaces {
  std::vector<BankFiles> custom;   // in the order of their lookup; empty if there is no HOME
  std::vector<BankFiles> builtin;  // at most one; empty if disabled (AOE_BUILTIN=off)
  // The environment variable that determines `custom` (TUNE_BANK_PATH, ASCEND_CACHE_PATH or HOME)
  // and the folders it names. TUNE_BANK_PATH may name several, which must exist.
  std::string variable;
  std::vector<std::filesystem::path> roots;
  std::string problem;  // with a variable that has no effect; empty if there is none

  // The custom bank that tuning writes; an empty path if there is no place for it.
  std::filesystem::path written(BankKind kind) const;
  // The files in which such an entry may be, in the order of their lookup. Banks of earlier
  // versions have the layouts of graphs among the policies of workloads.
  std::vector<std::filesystem::path> read(BankKind kind) const;
  std::vector<std::filesystem::path> read_custom(BankKind kind) const;
};

BankPlaces bank_places(const std::string& soc_version,
                       const Environment& environment = process_environment);

// The file of the custom bank that tuning writes. Fails if no place is set.
std::filesystem::path custom_bank(BankKind kind, const std::string& soc_version);

}  // namespace aoe

#include "tune/keep.h"

#include <fmt/format.h>

#include "base/notice.h"

namespace aoe {

bool keep(Bank& bank, const BankEntry& entry, const std::optional<std::string>& incumbent,
          const std::string& name) {
  const Found before = bank.find({entry.workload}, entry.target)[0];
  if (before.entry && *before.entry == entry) return true;
  if (bank.put(entry, incumbent)) return true;
  notice(
      fmt::format("{}: another job has written to the bank meanwhile; what it wrote stays", name));
  return false;
}

}  // namespace aoe

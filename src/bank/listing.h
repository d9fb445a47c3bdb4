#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "bank/bank.h"

namespace aoe {

// Which entries of a bank to list, and how.
struct ListingOptions {
  enum class Sort : uint8_t { gain, time, date, id };

  std::string op;        // part of a node's name, or a node's type; empty: all
  int threads = 0;       // 0: all
  std::string numerics;  // class that the policy needs; empty: all
  Sort sort = Sort::gain;
  int64_t limit = 0;  // 0: no limit
  int64_t offset = 0;
};

// A page of a bank's entries, of any state. SQL selects them, so that a page of a large bank costs
// little; of a bank of the first version, which lacks some columns, `op` and `numerics` find none.
struct Listing {
  int64_t total = 0;  // entries that fit, on all pages
  std::vector<StoredEntry> page;
};
Listing list_entries(const Bank& bank, const ListingOptions& options);

// The entries that a user means by the beginning of a key, a node's name, or the decimal number
// that a result file has (repo_key).
std::vector<StoredEntry> entries_named(const Bank& bank, const std::string& text);

// The entries that tuning no longer heeds: workloads without gain that have a policy by now, and
// those for which `is_aged` holds; with `aged_policies`, policies for which it holds too.
std::vector<StoredEntry> entries_to_prune(const Bank& bank, bool aged_policies,
                                          FunctionRef<bool(const BankEntry&)> is_aged);

}  // namespace aoe

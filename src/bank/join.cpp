#include "bank/join.h"

#include <charconv>
#include <limits>
#include <sstream>
#include <tuple>

namespace aoe {
namespace {

// NaN cannot be in a bank, and -0 need not be told from 0.
std::strong_ordering order(double a, double b) {
  if (a < b) return std::strong_ordering::less;
  return a > b ? std::strong_ordering::greater : std::strong_ordering::equal;
}

// Everything that the earlier criteria leave open. Any total order would do.
auto remainder(const BankEntry& entry) {
  return std::tie(entry.policy, entry.baseline, entry.mode, entry.processor, entry.fingerprint,
                  entry.product_version, entry.effort);
}

std::strong_ordering order(const Gain& a, const Gain& b) {
  if (const auto by = order(a.speedup_low, b.speedup_low); by != 0) return by;
  if (const auto by = order(a.speedup_high, b.speedup_high); by != 0) return by;
  if (const auto by = order(a.before_ns, b.before_ns); by != 0) return by;
  if (const auto by = order(a.after_ns, b.after_ns); by != 0) return by;
  return order(a.noise_floor, b.noise_floor);
}

}  // namespace

bool EntryKey::operator<(const EntryKey& other) const {
  const auto fields = [](const EntryKey& key) {
    return std::tie(key.workload, key.target.soc_version, key.target.instruction_set,
                    key.target.threads, key.allowed);
  };
  return fields(*this) < fields(other);
}

EntryKey key_of(const BankEntry& entry) { return {entry.workload, entry.target, entry.allowed}; }

std::strong_ordering compare(const BankEntry& a, const BankEntry& b) {
  if (const auto by = a.policy.empty() <=> b.policy.empty(); by != 0) return 0 <=> by;
  if (a.policy.empty()) {
    if (const auto by = a.date <=> b.date; by != 0) return by;
  }
  if (const auto by = order(a.total_low, b.total_low); by != 0) return by;
  if (const auto by = a.gain.samples <=> b.gain.samples; by != 0) return by;
  if (const auto by = a.date <=> b.date; by != 0) return by;
  if (const auto by = remainder(a) <=> remainder(b); by != 0) return by;
  return order(a.gain, b.gain);
}

BankEntry join(const BankEntry& a, const BankEntry& b) {
  const bool second = compare(a, b) < 0;
  BankEntry joined = second ? b : a;
  const BankEntry& other = second ? a : b;
  unite_sets(joined, other);
  return joined;
}

void unite_sets(BankEntry& entry, const BankEntry& other) {
  entry.names.insert(other.names.begin(), other.names.end());
  entry.types.insert(other.types.begin(), other.types.end());
  entry.evidence.insert(other.evidence.begin(), other.evidence.end());
}

EffortRank rank_of(const std::string& effort) {
  // As TuneOptions define them; a later version may search differently by the same names.
  constexpr double kNormal = 48;
  constexpr double kHigh = 128;
  constexpr double kDeeper = 4;
  EffortRank rank{.budget_s = std::numeric_limits<double>::infinity()};
  std::istringstream words(effort);
  for (std::string word; words >> word;) {
    if (word == "O2") rank.candidates = kNormal;
    else if (word == "O1") rank.candidates = kHigh;
    else if (word == "deeper") rank.candidates *= kDeeper;
    else std::from_chars(word.data(), word.data() + word.size(), rank.budget_s);
  }
  return rank;
}

bool is_no_higher(const std::string& a, const std::string& b) {
  const EffortRank of_a = rank_of(a);
  const EffortRank of_b = rank_of(b);
  return of_a.candidates <= of_b.candidates && of_a.budget_s <= of_b.budget_s;
}

}  // namespace aoe

#include "bank/entry.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <bit>
#include <sstream>

#include "base/hash.h"
#include "plan/plan.h"
#include "policy/policy_text.h"

namespace aoe {
namespace {

// Hashes fields one after the other. A text includes its length, so that moving bytes from one
// field to the next changes the hash.
class Checksum {
 public:
  Checksum& number(int64_t value) {
    hash_ = stable_hash(std::as_bytes(std::span(&value, 1)), hash_);
    return *this;
  }
  Checksum& text(std::string_view value) {
    number(static_cast<int64_t>(value.size()));
    hash_ = stable_hash(value, hash_);
    return *this;
  }
  Checksum& real(double value) { return number(std::bit_cast<int64_t>(value)); }
  Checksum& gain(const Gain& gain) {
    return real(gain.before_ns)
        .real(gain.after_ns)
        .real(gain.speedup_low)
        .real(gain.speedup_high)
        .real(gain.noise_floor)
        .number(gain.samples);
  }
  uint64_t value() const { return hash_; }

 private:
  uint64_t hash_ = kHashStart;
};

}  // namespace

EntryKind BankEntry::kind() const {
  if (policy.empty()) return EntryKind::no_gain;
  return names_graph(workload) ? EntryKind::layouts : EntryKind::policy;
}

Numerics BankEntry::numerics() const {
  return kind() == EntryKind::policy ? numerics_of(policy) : Numerics::direct;
}

bool BankEntry::is_aged(std::string_view fingerprint_here) const {
  return product_version != AOE_VERSION || fingerprint != fingerprint_here;
}

uint64_t checksum_of(const BankEntry& entry) {
  return Checksum()
      .text(entry.target.soc_version)
      .text(entry.target.instruction_set)
      .number(entry.target.threads)
      .text(name(entry.allowed))
      .text(name(entry.numerics()))
      .text(entry.mode)
      .gain(entry.gain)
      .real(entry.total_low)
      .text(entry.date)
      .text(entry.effort)
      .text(entry.product_version)
      .text(entry.processor)
      .text(entry.fingerprint)
      .text(lines_of(entry.types))
      .text(lines_of(entry.names))
      .text(lines_of(entry.evidence))
      .text(entry.policy)
      .text(entry.baseline)
      .text(entry.workload)
      .value();
}

uint64_t checksum_of_version_1(const BankEntry& entry) {
  return Checksum()
      .text(entry.workload)
      .text(entry.target.soc_version)
      .text(entry.target.instruction_set)
      .number(entry.target.threads)
      .text(entry.policy)
      .gain(entry.gain)
      .text(lines_of(entry.evidence))
      .text(entry.processor)
      .text(entry.product_version)
      .text(entry.date)
      .text(entry.effort)
      .value();
}

std::string lines_of(const std::set<std::string>& texts) {
  // Replaced before they are sorted: what is read back must have the same order.
  std::set<std::string> stored;
  for (std::string text : texts) {
    std::ranges::replace(text, '\n', ' ');
    if (!text.empty()) stored.insert(std::move(text));
  }
  return fmt::format("{}", fmt::join(stored, "\n"));
}

std::set<std::string> texts_in(const std::string& lines) {
  std::istringstream stream(lines);
  std::set<std::string> texts;
  for (std::string line; std::getline(stream, line);) {
    if (!line.empty()) texts.insert(line);
  }
  return texts;
}

std::string key_text(const std::string& workload) {
  return fmt::format("{:016x}", stable_hash(workload));
}

}  // namespace aoe

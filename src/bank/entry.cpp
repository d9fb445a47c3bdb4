#include "bank/entry.h"

#include <fmt/ranges.h>

#include <bit>
#include <sstream>

#include "base/hash.h"
#include "plan/plan.h"
#include "policy/policy_text.h"

namespace aoe {

Numerics BankEntry::numerics() const {
  return is_of_graph() ? Numerics::direct : numerics_of(policy);
}

bool BankEntry::is_of_graph() const { return names_graph(workload); }

uint64_t checksum_of(const BankEntry& entry) {
  uint64_t hash = kHashStart;
  const auto number = [&](uint64_t value) {
    hash = stable_hash(std::as_bytes(std::span(&value, 1)), hash);
  };
  // Includes the length, so that moving bytes from one field to the next changes the hash.
  const auto text = [&](const std::string& value) {
    number(value.size());
    hash = stable_hash(value, hash);
  };
  const auto real = [&](double value) { number(std::bit_cast<uint64_t>(value)); };
  text(entry.workload);
  text(entry.target.soc_version);
  text(entry.target.instruction_set);
  number(static_cast<uint64_t>(entry.target.threads));
  text(entry.policy);
  real(entry.gain.before_ns);
  real(entry.gain.after_ns);
  real(entry.gain.speedup_low);
  real(entry.gain.speedup_high);
  real(entry.gain.noise_floor);
  number(static_cast<uint64_t>(entry.gain.samples));
  text(evidence_text(entry.evidence));
  text(entry.processor);
  text(entry.product_version);
  text(entry.date);
  text(entry.effort);
  return hash;
}

std::string evidence_text(const std::set<std::string>& evidence) {
  return fmt::format("{}", fmt::join(evidence, "\n"));
}

std::set<std::string> evidence_of(const std::string& text) {
  std::istringstream words(text);
  std::set<std::string> evidence;
  for (std::string word; words >> word;) evidence.insert(word);
  return evidence;
}

}  // namespace aoe

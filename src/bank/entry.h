#pragma once

#include <cstdint>
#include <set>
#include <string>

#include "bank/gain.h"
#include "base/numerics.h"

namespace aoe {

// What a policy is for, besides its workload. The best policy on all cores need not be the best on
// one core, nor the best for wide vectors the best for narrow ones.
struct Target {
  std::string soc_version;      // "x86_64_znver4"
  std::string instruction_set;  // the widest in use: "avx512"
  int threads = 1;

  bool operator==(const Target&) const = default;
};

// The best proven policy of a workload, with its evidence and provenance. docs/bank.md describes
// the fields.
struct BankEntry {
  std::string workload;  // its text
  Target target;
  std::string policy;  // its text
  // The class of algorithms that the policy needs. It is not used where less is allowed.
  Numerics numerics() const;
  // Whether the entry describes a graph (names_graph): then `workload` is its name, and `policy`
  // has the task times from which its layouts are solved.
  bool is_of_graph() const;

  Gain gain;  // over the policy that it was confirmed against
  // Names of the measurements that prove it, globally unique and without white space. A set, so
  // that merging two banks twice changes nothing.
  std::set<std::string> evidence;

  std::string processor;  // as it names itself: "AMD EPYC 9R14"
  std::string product_version = AOE_VERSION;
  std::string date;    // of the proof, by utc_text: "2026-11-17T05:30:00Z"
  std::string effort;  // of the search: "O2"

  bool operator==(const BankEntry&) const = default;
};

// A hash of all fields, which detects damage.
uint64_t checksum_of(const BankEntry& entry);

// Converts evidence to its stored text, one name per line, and back.
std::string evidence_text(const std::set<std::string>& evidence);
std::set<std::string> evidence_of(const std::string& text);

}  // namespace aoe

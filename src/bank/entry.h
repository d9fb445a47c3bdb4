#pragma once

#include <cstdint>
#include <set>
#include <string>

#include "bank/gain.h"

namespace aoe {

// What a policy is chosen for beside its workload: a policy that is best on all cores need not be
// on one, nor one for wide vectors with narrow ones.
struct Target {
  std::string soc_version;      // "x86_64_znver4"
  std::string instruction_set;  // the widest in use: "avx512"
  int threads = 1;

  bool operator==(const Target&) const = default;
};

// A policy that was proven the best known for a workload, and why one may believe it. docs/bank.md
// has the fields.
struct BankEntry {
  std::string workload;  // its text
  Target target;
  std::string policy;  // its text
  // Of a graph (names_graph): `workload` names it, and `policy` is the times of its tasks, from
  // which its layouts are solved.
  bool is_of_graph() const;

  Gain gain;  // over the policy that it was confirmed against
  // Names of the measurements that prove it, unlike all others anywhere: a set, so that uniting two
  // banks twice changes nothing. No white space in them.
  std::set<std::string> evidence;

  std::string processor;  // "AMD EPYC 9R14", as it calls itself
  std::string product_version = AOE_VERSION;
  std::string date;    // of the proof, as utc_text gives it: "2026-11-17T05:30:00Z"
  std::string effort;  // how hard was searched: "O2"

  bool operator==(const BankEntry&) const = default;
};

// What shows damage: a hash of every field.
uint64_t checksum_of(const BankEntry& entry);

// The set as the text that is stored, a line each, and back.
std::string evidence_text(const std::set<std::string>& evidence);
std::set<std::string> evidence_of(const std::string& text);

}  // namespace aoe

#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <string_view>

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

enum class EntryKind : uint8_t {
  policy,   // of a workload
  layouts,  // of a graph (names_graph): `workload` is its name, `policy` has the task times
  no_gain,  // no policy was proven better than the default; `policy` is empty
};

// What tuning found for a workload or graph, with its evidence and provenance: the best proven
// policy, or that there is none. docs/bank.md describes the fields.
struct BankEntry {
  std::string workload;  // its text
  Target target;
  // The classes of algorithms up to this one could be chosen when the entry was made. A bank has
  // one entry for each: what is fastest, and what it is faster than, depends on the choice.
  Numerics allowed = Numerics::direct;
  std::string policy;         // its text
  std::string mode = {};      // what tuning changed: "Schedule", "Format" or "Impl"
  std::string baseline = {};  // the policy that it was proven against

  Gain gain = {};  // over `baseline`
  // Lower bound of the speed-up over the default policy: the product of the lower bounds along the
  // policies that replaced each other.
  double total_low = 1;

  // The operators that it was proven for: names of their nodes, and types as the models call them.
  std::set<std::string> names = {};
  std::set<std::string> types = {};
  // Names of the measurements that prove it, globally unique and without white space.
  std::set<std::string> evidence = {};

  std::string processor = {};    // as it names itself: "AMD EPYC 9R14"
  std::string fingerprint = {};  // what may differ between two of them (Device::fingerprint)
  std::string product_version = AOE_VERSION;
  std::string date = {};    // of the proof, by utc_text: "2026-11-17T05:30:00Z"
  std::string effort = {};  // of the search: "O2", "O1 deeper 90s"

  EntryKind kind() const;
  // The class of algorithms that the policy needs. It is not used where less is allowed.
  Numerics numerics() const;
  // Whether it was made by another version of the product, or on a processor that differs.
  bool is_aged(std::string_view fingerprint_here) const;

  bool operator==(const BankEntry&) const = default;
};

// A hash of all fields, which detects damage.
uint64_t checksum_of(const BankEntry& entry);
// The same in a bank of the first version, which has fewer fields.
uint64_t checksum_of_version_1(const BankEntry& entry);

// Converts a set of texts to its stored form, one per line, and back. Line ends inside a text
// become spaces, and empty texts are left out.
std::string lines_of(const std::set<std::string>& texts);
std::set<std::string> texts_in(const std::string& lines);

// The key of a workload's text: its hash as 16 hexadecimal digits.
std::string key_text(const std::string& workload);

}  // namespace aoe

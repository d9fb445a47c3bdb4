#pragma once

#include <compare>

#include "bank/entry.h"

// Merging of entries, as functions of data. Entries of one workload, target and allowed class form
// a join semilattice: what they say is totally ordered, and the union of sets is a join. So merging
// is commutative, associative and idempotent, whatever the order in which banks are exchanged.

namespace aoe {

// What entries are merged by.
struct EntryKey {
  std::string workload;
  Target target;
  Numerics allowed = Numerics::direct;

  bool operator==(const EntryKey&) const = default;
  bool operator<(const EntryKey& other) const;
};
EntryKey key_of(const BankEntry& entry);

// Compares what two entries with the same key say, without names, types and evidence: by the lower
// bound of the speed-up over the default, the samples, the date, and last by all their texts and
// numbers, so that only equal ones are equivalent. A greater one is better proven. Of two without a
// policy, the later one is greater: the other may be of an earlier version or another processor.
std::strong_ordering compare(const BankEntry& a, const BankEntry& b);

// Returns the greater of the two with the names, types and evidence of both.
BankEntry join(const BankEntry& a, const BankEntry& b);
// Adds the names, types and evidence of another entry.
void unite_sets(BankEntry& entry, const BankEntry& other);

// How thoroughly a job searches, as a number: the candidates for each workload by "O2", "O1",
// "deeper", and below that the budget. 0 for a text of another form.
struct EffortRank {
  double candidates = 0;
  double budget_s = 0;  // infinite without a budget
};
EffortRank rank_of(const std::string& effort);
// Whether a job of effort `a` would repeat one of effort `b`, and search no further.
bool is_no_higher(const std::string& a, const std::string& b);

}  // namespace aoe

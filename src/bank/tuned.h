#pragma once

#include <cstddef>
#include <cstdint>

namespace aoe {

// The outcome of a workload in a job, which determines what is written to the bank.
enum class Tuned : uint8_t {
  add,          // not in the bank, and proven better than the baseline: written
  update,       // in the bank, tuned again, and proven better: replaced
  reserved,     // in the bank, and kept
  unsatisfied,  // not in the bank, and not proven better than the baseline: remembered
};

// Whether a workload is tuned at all.
constexpr bool is_to_be_tuned(bool in_bank, bool repeat_tune) { return !in_bank || repeat_tune; }

// `better`: proven faster than the baseline. `in_bank` means the custom bank: a policy of the
// built-in bank is a baseline like the default.
constexpr Tuned tuned(bool in_bank, bool repeat_tune, bool better) {
  if (!in_bank) return better ? Tuned::add : Tuned::unsatisfied;
  return repeat_tune && better ? Tuned::update : Tuned::reserved;
}

// Number of workloads of a job by outcome. Failed workloads are not counted.
struct TunedCounts {
  int add = 0;
  int update = 0;
  int reserved = 0;
  int unsatisfied = 0;

  constexpr void count(Tuned outcome) {
    switch (outcome) {
      case Tuned::add: ++add; break;
      case Tuned::update: ++update; break;
      case Tuned::reserved: ++reserved; break;
      case Tuned::unsatisfied: ++unsatisfied; break;
    }
  }
  constexpr int hit() const { return reserved + update; }
  constexpr int total() const { return add + update + reserved + unsatisfied; }

  bool operator==(const TunedCounts&) const = default;
};

// What a job knows of its workloads besides the counts.
struct TunedTally {
  size_t workloads = 0;  // of the model
  size_t failed = 0;
  size_t in_bank = 0;  // when the job began, without failed ones
  size_t stored = 0;   // policies written
};

// Fails with an internal error unless the counts agree with the tally: every workload that did not
// fail is counted once, those in the bank are the hits, and those with a new policy were stored.
void check_counts(const TunedCounts& counts, const TunedTally& tally);

}  // namespace aoe

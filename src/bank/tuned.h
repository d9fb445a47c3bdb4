#pragma once

#include <cstdint>

namespace aoe {

// What tuning a workload comes to, and so what is written to the bank.
enum class Tuned : uint8_t {
  add,          // not in the bank, and better than the default policy: written
  update,       // in the bank, tuned again, and better than what is there: replaced
  reserved,     // in the bank and left as it is
  unsatisfied,  // not in the bank, and not better than the default policy: nothing is written
};

// Whether a workload is to be tuned at all.
constexpr bool is_to_be_tuned(bool in_bank, bool repeat_tune) { return !in_bank || repeat_tune; }

// `better`: proven faster than what is in the bank, or than the default policy where nothing is.
// `in_bank` means the custom bank: what the built-in one has is a baseline like the default.
constexpr Tuned tuned(bool in_bank, bool repeat_tune, bool better) {
  if (!in_bank) return better ? Tuned::add : Tuned::unsatisfied;
  return repeat_tune && better ? Tuned::update : Tuned::reserved;
}

// How many workloads of a job came to what. Those that failed are in none of them.
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

}  // namespace aoe

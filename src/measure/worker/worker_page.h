#pragma once

#include <atomic>
#include <cstdint>

#include "measure/host/guarded_memory.h"
#include "measure/worker/candidate.h"

namespace aoe {

// Memory that a worker shares with its client, in which it notes what it is at: what is left of it
// when it dies or hangs.
struct WorkerPage {
  enum class Phase : int32_t { opening, compiling, checking, timing, waiting };

  std::atomic<Phase> phase = Phase::opening;
  // That is at work; the baseline: none that could be blamed.
  std::atomic<CandidateId> candidate = CandidateId::baseline;
  std::atomic<uint64_t> beats = 0;  // counts on whenever something was brought to its end

  // Memory that was touched and must not be, if that is what ended it.
  std::atomic<bool> strayed = false;
  Stray stray = {};

  void enter(Phase now, CandidateId who = CandidateId::baseline) {
    candidate.store(who, std::memory_order_relaxed);
    phase.store(now, std::memory_order_relaxed);
    beat();
  }
  void beat() { beats.fetch_add(1, std::memory_order_relaxed); }
};

}  // namespace aoe

#pragma once

#include <atomic>
#include <cstdint>

#include "measure/host/guarded_memory.h"
#include "measure/worker/candidate.h"

namespace aoe {

// Page of memory that a worker shares with its client. The worker records its progress there, so
// that the client can attribute a crash or a hang to a candidate.
struct WorkerPage {
  enum class Phase : int32_t { opening, compiling, checking, timing, waiting };

  std::atomic<Phase> phase = Phase::opening;
  // The active candidate. The baseline means that a failure is no candidate's fault.
  std::atomic<CandidateId> candidate = CandidateId::baseline;
  std::atomic<uint64_t> beats = 0;  // heartbeat: incremented with every unit of progress

  // The access out of bounds that ended the worker, if `strayed`.
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

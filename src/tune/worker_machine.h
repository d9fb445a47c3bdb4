#pragma once

#include <functional>

#include "tune/format_machine.h"
#include "tune/machine.h"

namespace aoe {

struct WorkerMachineOptions {
  WorkerTarget target;
  int compile_jobs = 1;  // at once
  // Candidates whose inner loops spill more than those that stand.
  bool refuse_spills = true;
  // Asked between requests; an Interrupted is thrown once it says so.
  std::function<bool()> stopped = [] { return false; };
};

// The user wants the job to end.
class Interrupted : public std::exception {};

// Worker processes: one that measures, on cores of its own if there are enough, and some that
// compile. Where the model uses all cores, they take turns.
std::unique_ptr<Machine> worker_machine(WorkerMachineOptions options);

// A worker process that measures layouts; nothing is compiled beside it.
std::unique_ptr<FormatMachine> worker_formats(WorkerMachineOptions options);

// Processors for so many threads that are measured, if some are left beside them; else none.
std::vector<int> measuring_cpus(int threads);

}  // namespace aoe

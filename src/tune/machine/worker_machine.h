#pragma once

#include <functional>
#include <memory>

#include "device/device.h"
#include "tune/machine/machine.h"

namespace aoe {

struct WorkerMachineOptions {
  WorkerTarget target;
  Device device;         // that the job is for
  int compile_jobs = 1;  // at once
  // Candidates whose inner loops spill more than those of the baseline.
  bool refuse_spills = true;
  // Only whole passes and tasks will be compared: opening measures no rates, and leaves it to the
  // machine of the operators to tell of the host.
  bool only_layouts = false;
  // Asked between requests; an Interrupted is thrown once it says so.
  std::function<bool()> stopped = [] { return false; };
};

// The user wants the job to end.
class Interrupted : public std::exception {};

// Worker processes: one that measures, on separate cores if there are enough, and some that
// compile. Where the model uses all cores, they take turns.
std::unique_ptr<Machine> worker_machine(WorkerMachineOptions options);

}  // namespace aoe

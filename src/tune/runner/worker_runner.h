#pragma once

#include <functional>
#include <memory>

#include "device/device.h"
#include "tune/runner/runner.h"

namespace aoe {

struct WorkerRunnerOptions {
  WorkerTarget target;
  Device device;         // that the job tunes for
  int compile_jobs = 1;  // maximum number of compiling workers
  // Reject candidates whose inner loops spill more than those of the baseline.
  bool refuse_spills = true;
  // Only whole passes and tasks are timed: opening measures no rates and prints no notes about the
  // host, which the runner for the operators will do.
  bool only_layouts = false;
  // Checked between candidates and requests; once it returns true, `ask` throws Interrupted.
  std::function<bool()> stopped = [] { return false; };
};

// Thrown when the user stops the job.
class Interrupted : public std::exception {};

// A runner of worker processes: one measures and several compile, on separate cores if there are
// enough. If the model uses all cores, they take turns.
std::unique_ptr<Runner> worker_runner(WorkerRunnerOptions options);

}  // namespace aoe

#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "runtime/step_observer.h"

namespace aoe {

// Times of the steps of a model, in the order in which they run.
struct Profile {
  struct Step {
    std::vector<std::string> nodes;  // "conv1 (Conv)", or "Conv" for a node without a name
    std::string kind;                // "kernel", "reference", or "host" for a host kernel
    std::string algorithm;           // of a kernel, its class of algorithms: "winograd"
    bool changes_layout = false;     // its output layout differs from its input layout
    double operations = 0;
    double bytes = 0;  // of inputs and outputs
    double median_ns = 0;
  };

  std::vector<Step> steps;
  double total_ns = 0;    // median time of a run
  double between_ns = 0;  // median over runs of the time outside of steps
  int64_t runs = 0;
};

// Runs a model once and reports its steps to the watch, if that is not null.
using WatchedRun = std::function<void(StepObserver*)>;

// Profiles as many runs as `seconds` allow, but at least kFewestValues.
Profile profile_of(const WatchedRun& run, double seconds, const Clock& clock = steady_ns);

// Number of operations of all workloads of a run.
double operations_in(const WatchedRun& run);

}  // namespace aoe

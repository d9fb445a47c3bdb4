#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "runtime/watch.h"

namespace aoe {

// Where the time of a model's runs goes, step by step, in the order of the run.
struct Profile {
  struct Step {
    std::vector<std::string> nodes;  // "conv1 (Conv)", or "Conv" where it has no name
    std::string kind;                // "kernel", "reference", or "host" for what is no loop nest
    bool changes_layout = false;     // its output layout differs from its input layout
    double operations = 0;
    double bytes = 0;  // of inputs and outputs
    double median_ns = 0;
  };

  std::vector<Step> steps;
  double total_ns = 0;    // median of whole runs
  double between_ns = 0;  // median of what no step took
  int64_t runs = 0;
};

// A run that tells its steps to a watch, or to nobody.
using WatchedRun = std::function<void(Watch*)>;

// Of as many runs as `seconds` allow, but at least eight.
Profile profile_of(const WatchedRun& run, double seconds, const Clock& clock = steady_ns);

// Of all workloads of a run.
double operations_in(const WatchedRun& run);

}  // namespace aoe

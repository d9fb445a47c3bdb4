#pragma once

#include <functional>
#include <limits>
#include <optional>
#include <set>
#include <string>

#include "device/device.h"
#include "graph/graph.h"
#include "tune/job/job_state.h"

namespace aoe {

struct LayoutOptions {
  uint64_t seed = 1;
  double budget_s = std::numeric_limits<double>::infinity();  // of the whole job
  // The task times that the graph is planned with now, as text; empty: the estimate.
  std::string baseline;
  // Called with the completed share of the whole job, roughly, and the time used.
  std::function<void(double share, double elapsed_s)> display = [](double, double) {};
};

// The result of tuning the layouts of a graph.
struct LayoutResult {
  enum class End : uint8_t {
    no_choice,   // no tensor has an alternative layout
    unmeasured,  // no task could be timed before the deadline
    same,        // the measured times lead to the layouts of the baseline
    rejected,    // other layouts appeared faster, but were not proven
    accepted,
  };

  End end = End::no_choice;
  size_t layouts = 0;   // values with a non-default layout in the final plan
  size_t measured = 0;  // number of measured times
  // If the solved layouts differ from the baseline's: the plan, and the model's gain by it.
  std::optional<Accepted> challenger;
  std::set<std::string> changed;  // texts of workloads that only the accepted plan has
  double margin = 0;              // of a proof in this job
  double elapsed_s = 0;
};

// Measures the tasks of a graph in all layouts that the solver considers, solves the layouts from
// these times, and compares the model with both plans (docs/tuning.md). The result is a function of
// the options and of the runner's answers. `device` is the one that loading plans for.
LayoutResult tune_layouts(Runner& runner, const Graph& graph, const Device& device,
                          const LayoutOptions& options);

}  // namespace aoe

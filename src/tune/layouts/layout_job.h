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
  // The task times by which the graph is planned now, as text; empty: the estimate.
  std::string baseline;
  // For a progress bar: which share of the whole job is done, roughly, and how long it took.
  std::function<void(double share, double elapsed_s)> display = [](double, double) {};
};

// What tuning the layouts of a graph has come to.
struct LayoutResult {
  enum class End : uint8_t {
    no_choice,   // no tensor has an alternative layout
    unmeasured,  // nothing could be timed in time
    same,        // the layouts of the baseline are the best
    rejected,    // others seemed better, which was not proven
    accepted,
  };

  End end = End::no_choice;
  size_t layouts = 0;   // values with a non-default layout, as planned in the end
  size_t measured = 0;  // times that were measured
  // If the layouts differ from the baseline's: the plan, and the whole model's gain by it.
  std::optional<Accepted> rival;
  std::set<std::string> changed;  // texts of workloads that only the accepted plan has
  double elapsed_s = 0;
};

// Measures the tasks of a graph with their values lying in all ways that are looked at, solves the
// layouts from that, and compares the model by both plans (docs/tuning.md). A function of its
// options and of what the machine answers. `device` is the one that loading plans for.
LayoutResult tune_layouts(Machine& machine, const Graph& graph, const Device& device,
                          const LayoutOptions& options);

}  // namespace aoe

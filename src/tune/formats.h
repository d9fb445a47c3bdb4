#pragma once

#include <functional>
#include <limits>
#include <set>
#include <string>

#include "bank/gain.h"
#include "device/device.h"
#include "graph/graph.h"
#include "tune/format_machine.h"

namespace aoe {

struct FormatOptions {
  uint64_t seed = 1;
  double budget_s = std::numeric_limits<double>::infinity();  // of the whole job
  // The times by which the graph is planned now, as text; empty: the estimate.
  std::string standing;
  // Hears which share of the whole job is done, roughly, and how long it took.
  std::function<void(double share, double elapsed_s)> progress = [](double, double) {};
};

// What tuning the layouts of a graph has come to.
struct FormatResult {
  enum class End : uint8_t {
    no_choice,   // nothing in it could lie otherwise
    unmeasured,  // nothing could be timed in time
    same,        // the layouts that stand are the best
    rejected,    // others seemed better, which was not proven
    accepted,
  };

  End end = End::no_choice;
  std::string graph;    // as graph_text names it
  size_t layouts = 0;   // values that do not lie as they are counted, as planned in the end
  size_t measured = 0;  // times that were measured
  std::string times;    // which layouts were solved from, as text
  Gain gain;            // of the whole model, if the layouts differ
  std::set<std::string> changed;  // texts of workloads that only the accepted plan has
  double elapsed_s = 0;
};

// Measures the tasks of a graph with their values lying in all ways that are looked at, solves the
// layouts from that, and compares the model by both plans (docs/tuning.md). A function of its
// options and of what the machine answers. `device` is the one that loading plans for.
FormatResult tune_formats(FormatMachine& machine, const Graph& graph, const Device& device,
                          const FormatOptions& options);

}  // namespace aoe

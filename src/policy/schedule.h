#pragma once

#include <variant>
#include <vector>

#include "device/device.h"
#include "loop/nest.h"
#include "policy/product_defaults.h"
#include "policy/strips.h"
#include "policy/winograd.h"

namespace aoe {

// A contraction that runs as products of matrices.
struct ProductItem {
  size_t stage = 0;  // of the schedule's workload
  ProductShape shape;
  int winograd = 0;  // the side of its tiles, if it runs by that algorithm
  bool strassen = false;
};

// What is decided about as one: a nest, or a contraction.
using Item = std::variant<Nest, ProductItem>;

// The same computation as a workload's, taken apart into what runs one after the other, with
// nothing decided yet but its structure.
struct Schedule {
  Workload workload;
  std::vector<Item> items;
  std::vector<size_t> constant;  // stages of the workload that only lay out weights: no items
  // Loops over strips as the structure lists them, without axes if not possible, and for each item
  // the loop that computes it, or -1.
  std::vector<StripLoop> strip_loops;
  std::vector<int> loop_of;

  // What became of each stage of the workload as it was given.
  struct Transforms {
    bool inlined = false;
    bool shared = false;  // its rows, with another stage
    bool product = false;
    std::optional<Winograd> winograd;  // if it can run by that algorithm
    int64_t strassen_columns = 0;      // of a product that can run by that one; 0: it cannot
    bool windowed = false;             // it has windows with steps, which are copied first
    int64_t window_bytes = 0;  // of a line of results whose windows are copied first; 0: are not
  };
  std::vector<Transforms> applicable;
};

Schedule schedule_of(const Workload& workload, const Structure& structure);

// What an analytic model of registers and caches decides, never a search.
// `plain` is the schedule without any structure.
Structure default_structure(const Schedule& plain, const Device& device);
Policy default_policy(const Schedule& schedule, const Structure& structure, const Device& device);

// A schedule with a policy for its items.
struct DecidedSchedule {
  Schedule schedule;
  Policy policy;
};
DecidedSchedule default_schedule(const Workload& workload, const Device& device);
inline Policy default_policy(const Workload& workload, const Device& device) {
  return default_schedule(workload, device).policy;
}

// The nest with everything decided. The policy must be a valid one for it.
Nest decided(Nest nest, const NestPolicy& policy);
// Whether the number of outer axes is open: a nest of several loops has those they share.
bool has_open_outer(const Nest& nest);

}  // namespace aoe

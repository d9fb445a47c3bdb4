#pragma once

#include <variant>
#include <vector>

#include "device/device.h"
#include "loop/nest.h"
#include "policy/product_defaults.h"
#include "policy/strips.h"
#include "policy/winograd.h"

namespace aoe {

// A contraction that runs as matrix products.
struct ProductItem {
  size_t stage = 0;  // of the schedule's workload
  ProductShape shape;
  int winograd = 0;  // m of F(m x m, 3 x 3); 0: not by Winograd's algorithm
  bool strassen = false;
};

// The unit that a policy has an ItemPolicy for.
using Item = std::variant<Nest, ProductItem>;

// A Schedule is a workload decomposed under a structure into items that run one after the other.
// Nothing but the structure is decided.
struct Schedule {
  Workload workload;  // the rewritten workload: the same computation, possibly other stages
  std::vector<Item> items;
  std::vector<size_t> constant;  // stages of `workload` that only lay out weights; not items
  // Strip loops in the order of Structure::strips; one that is not possible has no axes.
  std::vector<StripLoop> strip_loops;
  std::vector<int> loop_of;  // for each item: the strip loop that computes it, or -1

  // What became of a stage of the given workload (the first three), and which algorithms it allows
  // beside the other decisions of the structure (the others). The search space offers these.
  struct Transforms {
    bool inlined = false;              // into its consumers; then nothing else is set
    bool shared = false;               // shares a nest with another stage
    bool product = false;              // runs as matrix products
    std::optional<Winograd> winograd;  // set if Winograd's algorithm is applicable
    int64_t strassen_columns = 0;      // columns, if Strassen's algorithm is applicable; else 0
    bool windowed = false;             // has strided windows that are copied
    int64_t window_bytes = 0;  // bytes of a line of results of copied windows; 0: nothing is copied
  };
  std::vector<Transforms> applicable;  // by stage of the given workload
};

Schedule schedule_of(const Workload& workload, const Structure& structure);

// The choices of an analytic model of registers and caches, never of a search. `plain` is the
// schedule under Structure{}.
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

// Applies a policy to a nest, for which it must be valid.
Nest decided(Nest nest, const NestPolicy& policy);
// Whether the policy chooses the number of outer axes. Nests of several loops have them already.
bool has_open_outer(const Nest& nest);

}  // namespace aoe

#pragma once

#include "device/device.h"
#include "loop/nest.h"
#include "policy/contraction.h"
#include "policy/schedule.h"

namespace aoe {

// A nest that copies a block of a contraction's right side: for each depth a row of columns,
// `pitch` elements apart, into the buffer without a value. It counts from the beginning of the
// whole.
struct Packing {
  Nest nest;
  // Its outer points are those of the contraction, times windows (the first axis of the depth), and
  // so that it has all it sees of one of them at hand, times the first axis of the columns. Else
  // that one is given as a range.
  bool by_rows = false;
};
Packing packing_of(const Workload& workload, const Stage& stage, const Contraction& c,
                   int64_t pitch);

// As far as decisions about it go, which no pitch changes; nothing for an item that packs nothing.
std::optional<Nest> packing_nest(const Schedule& schedule, const ProductItem& item);

// How it runs: as the policy says, or else by the default.
NestPolicy packing_policy(const Packing& packing, const ProductPolicy& policy,
                          const Device& device);

// Whether what reaches beyond its tensor need not be surrounded first, as the packing does so.
bool packs_by_rows(const Workload& workload, const Stage& stage, const Contraction& c);

}  // namespace aoe

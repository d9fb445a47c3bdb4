#pragma once

#include "device/device.h"
#include "loop/nest.h"
#include "policy/contraction.h"
#include "policy/schedule.h"

namespace aoe {

// A nest that packs a block of a contraction's right side into its buffer without a value: for each
// step of the depth a row of columns, `pitch` elements apart. Offsets count from the beginning of
// the whole side.
struct Packing {
  Nest nest;
  // Outer points are those of the contraction x the first axis of the depth (the windows). By rows,
  // they are also x the first axis of the columns, so that the source of one point fits into a row
  // of the nest, padding included; otherwise that axis is the ranged one.
  bool by_rows = false;
};
Packing packing_of(const Workload& workload, const Stage& stage, const Contraction& c,
                   int64_t pitch);

// The packing nest of an item, to validate and enumerate decisions about it: they do not depend on
// the pitch. Returns nothing if the item packs nothing at run time.
std::optional<Nest> packing_nest(const Schedule& schedule, const ProductItem& item);

// The policy's decisions about packing, or the default ones.
NestPolicy packing_policy(const Packing& packing, const ProductPolicy& policy,
                          const Device& device);

// Whether the packing nest writes the padding of the right side, so that no padded copy is needed.
bool packs_by_rows(const Workload& workload, const Stage& stage, const Contraction& c);

}  // namespace aoe

#include "policy/schedule.h"

#include <algorithm>

#include "loop/lower.h"
#include "policy/contraction.h"
#include "policy/loop_defaults.h"
#include "policy/stage_groups.h"
#include "policy/strassen.h"
#include "policy/streaming.h"

// From a workload to its schedule, in the order of schedule_of: strips (policy/strips.cpp),
// inlining of elementwise stages and grouping of the rest (policy/stage_groups.cpp), recognition of
// products (policy/contraction.cpp), Winograd and Strassen where the structure says so, and
// lowering of all other groups to loop nests (loop/lower.cpp). default_structure and default_policy
// then decide what the structure and the items leave open; default_schedule is both.
//
// Invariant: the schedule's workload computes the same values as the given one; `applicable` is
// indexed by stages of the given workload, everything else by those of the schedule's.

namespace aoe {
namespace {

bool is_empty(const Nest& nest) {
  return std::all_of(nest.loops.begin(), nest.loops.end(),
                     [](const Loop& loop) { return element_count(loop.out_extents()) == 0; });
}

// Bytes of a line of results of a nest that copies its windows, else 0. The nest must be one stage:
// its rows are then copies of windows.
int64_t window_bytes(const Nest& nest) {
  if (nest.row_bytes() == 0) return 0;
  const Loop& loop = nest.loops.back();
  return loop.extents[loop.out_rank - 1] * info(loop.elements[0].dtype()).bytes;
}

}  // namespace

Schedule schedule_of(const Workload& given_workload, const Structure& structure) {
  const size_t count = given_workload.stages.size();
  Schedule schedule;
  Workload workload = given_workload;
  std::vector<Strips> strips = structure.strips;
  std::vector<bool> by_strips(count);  // by stage
  for (Strips& one : strips) {
    bool twice = false;
    for (size_t s = one.first; s <= one.last && s < count; ++s) twice = twice || by_strips[s];
    auto split = twice ? std::nullopt : split_into_strips(workload, one);
    if (split) workload = std::move(*split);
    else one = {.first = 1, .last = 0};  // an empty range of stages
    for (size_t s = one.first; s <= one.last; ++s) by_strips[s] = true;
  }
  schedule.applicable.assign(count, {.inlined = true});

  std::vector<bool> may_inline;
  for (size_t s = 0; s < count; ++s) {
    may_inline.push_back(structure.of(s).place == Place::anywhere);
  }
  std::vector<size_t> original_stage;  // for each remaining stage: its index in given_workload
  const Workload fewer = inline_stages(workload, may_inline, original_stage);
  std::vector<bool> may_contract;
  std::vector<bool> transforms;
  for (size_t i = 0; i < original_stage.size(); ++i) {
    const StagePolicy decided = structure.of(original_stage[i]);
    Schedule::Transforms& can = schedule.applicable[original_stage[i]];
    can.inlined = false;
    // Winograd tiles would not end at the edges of strips.
    if (!by_strips[original_stage[i]]) can.winograd = winograd_of(fewer, fewer.stages[i]);
    may_contract.push_back(decided.product);
    transforms.push_back(decided.winograd != 0 && decided.product && can.winograd);
  }
  RewrittenWorkload ready = rewrite_contractions(fewer, may_contract, transforms);
  schedule.workload = std::move(ready.workload);
  schedule.workload.numerics = given_workload.numerics;
  std::vector<bool> alone = ready.contracts;
  std::vector<size_t> given_of;
  for (size_t s = 0; s < alone.size(); ++s) {
    const size_t given = original_stage[ready.origins[s]];
    // Stages that only lay out weights run before all strips: `count` is in no range of strips.
    given_of.push_back(ready.constant[s] ? count : given);
    if (ready.contracts[s]) schedule.applicable[given].product = true;
    if (structure.of(given).place == Place::root || ready.constant[s]) alone[s] = true;
  }

  const std::vector<int> loops =
      stages_by_strip(schedule.workload, given_of, strips, schedule.strip_loops);
  const auto add = [&](size_t stage, Item item) {
    schedule.items.push_back(std::move(item));
    schedule.loop_of.push_back(loops[stage]);
  };
  for (const Group& group : groups_of(schedule.workload, alone, loops, schedule.strip_loops)) {
    const size_t first = group.stages[0];
    const size_t given = original_stage[ready.origins[first]];
    if (ready.constant[first]) {
      schedule.constant.push_back(first);
      continue;
    }
    if (ready.contracts[first]) {
      const Stage& stage = schedule.workload.stages[first];
      if (transforms[ready.origins[first]]) {
        const int side = structure.of(given).winograd;
        add(first,
            ProductItem{first, product_shape(*schedule.applicable[given].winograd, side), side});
        continue;
      }
      const Contraction c = *contraction_of(stage);
      ProductShape shape = product_shape(schedule.workload, stage, c);
      if (loops[first] >= 0) {
        // A tile must not have rows of two strips.
        const int64_t points = schedule.strip_loops[static_cast<size_t>(loops[first])].points;
        shape.line = std::min(shape.line, shape.outer * shape.rows / std::max(points, shape.outer));
      }
      const bool may = loops[first] < 0 && may_run_by_strassen(schedule.workload, stage, c, shape);
      schedule.applicable[given].strassen_columns = may ? shape.columns : 0;
      const bool halves = may && structure.of(given).strassen;
      add(first, ProductItem{first, halves ? strassen_shape(shape) : shape, 0, halves});
      continue;
    }
    for (const size_t s : group.stages) {
      if (group.stages.size() > 1)
        schedule.applicable[original_stage[ready.origins[s]]].shared = true;
    }
    for (Nest& nest : lower_group(schedule.workload, group, structure.of(given).copied)) {
      if (is_empty(nest)) continue;
      if (group.stages.size() == 1) schedule.applicable[given].window_bytes = window_bytes(nest);
      if (group.outer == 0 && nest.row_bytes() > 0) schedule.applicable[given].windowed = true;
      add(first, std::move(nest));
    }
  }
  return schedule;
}

bool has_open_outer(const Nest& nest) { return nest.loops.size() == 1 && nest.outer.empty(); }

Policy default_policy(const Schedule& schedule, const Structure& structure, const Device& device) {
  Policy policy{.structure = structure, .items = {}};
  for (size_t i = 0; i < schedule.items.size(); ++i) {
    // Results of a strip are small and read soon, so they are not streamed.
    const bool in_strip = schedule.loop_of[i] >= 0;
    if (const auto* nest = std::get_if<Nest>(&schedule.items[i])) {
      policy.items.emplace_back(choose_loops(*nest, device, !in_strip));
    } else {
      const auto& product = std::get<ProductItem>(schedule.items[i]);
      ProductPolicy chosen = product.shape.transformed
                                 ? default_transformed(product.shape, product.strassen, device)
                                 : default_product(product.shape, device);
      chosen.streaming = chosen.streaming && !in_strip;
      policy.items.emplace_back(std::move(chosen));
    }
  }
  return policy;
}

Structure default_structure(const Schedule& plain, const Device& device) {
  Structure structure;
  // Strided windows are read in place (`direct`) if a line of results is at most kMostLineVectors
  // vectors and there are kLeastRegisters vector registers, as AVX-512 has. The sums of the line,
  // shifted ones included, then stay in registers while lines of the windows are deinterleaved.
  // With fewer registers, reading a copy of the windows is faster (docs/policy.md).
  constexpr int kMostLineVectors = 4;
  constexpr int kLeastRegisters = 32;
  for (size_t s = 0; s < plain.applicable.size(); ++s) {
    const Schedule::Transforms& can = plain.applicable[s];
    StagePolicy by_default;
    if (can.winograd && plain.workload.numerics >= Numerics::winograd) {
      by_default.winograd = default_winograd(*can.winograd, device);
    }
    by_default.copied = device.vector_registers < kLeastRegisters || can.window_bytes == 0 ||
                        can.window_bytes > int64_t{kMostLineVectors} * device.vector_bytes;
    if (by_default == StagePolicy{}) continue;
    structure.stages.resize(plain.applicable.size());
    structure.stages[s] = by_default;
  }
  return structure;
}

// The schedule under the empty structure shows which algorithms are applicable, from which the
// default structure follows. If that is another one, the items differ, and the workload is
// decomposed again.
DecidedSchedule default_schedule(const Workload& workload, const Device& device) {
  DecidedSchedule made{schedule_of(workload, {}), {}};
  const Structure structure = default_structure(made.schedule, device);
  if (structure != Structure{}) made.schedule = schedule_of(workload, structure);
  made.policy = default_policy(made.schedule, structure, device);
  return made;
}

Nest decided(Nest nest, const NestPolicy& policy) {
  for (size_t i = 0; i < nest.loops.size(); ++i) nest.loops[i].policy = policy.loops[i];
  if (has_open_outer(nest)) {
    nest.outer = head(nest.loops[0].extents, static_cast<size_t>(policy.outer));
  }
  const auto scattered = [&](const Loop& loop) {
    return loop.policy.streaming && !stores_whole_vectors(nest, loop, loop.policy);
  };
  const bool gathers = std::any_of(nest.loops.begin(), nest.loops.end(), scattered);
  return gathers ? gather_transposed(std::move(nest)) : nest;
}

}  // namespace aoe

#include "policy/validate.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "device/dot.h"
#include "expr/rewrite.h"
#include "expr/text.h"
#include "policy/packing.h"
#include "policy/streaming.h"

// Checks policies before code is generated from them. In reading order:
//   loop_fault, nest_fault     the decisions about a nest
//   product_fault              the decisions about a product
//   algorithm_fault            whether the algorithms of a structure apply to their stages
//   most_lanes ... most_outer  the bounds of validate.h, which the search space uses too
//   fault_of, validate         the structure first, since it determines the items; then the items
//
// Invariant: a fault is a sentence for the user, and a policy without one gives correct code of
// bounded size. Policies may come from untrusted files, so that nothing about them is assumed.

namespace aoe {
namespace {

using Fault = std::optional<std::string>;

// Bounds on an unrolled loop body: its points, and its expression nodes over all points. Larger
// bodies take seconds to compile and exceed the instruction cache. Bodies of up to kAlwaysSmall
// points, the default's largest (transposed squares), are always valid.
constexpr int64_t kMostNodes = 8192;
constexpr int kAlwaysSmall = 16;
constexpr int kMostPoints = 32;

// "5 threads; 0 to 4 are expected", for "{} threads"; nothing if the number is within its bounds.
Fault range_fault(std::string_view what, int64_t number, int64_t low, int64_t high) {
  if (number >= low && number <= high) return std::nullopt;
  return fmt::format(fmt::runtime(what), number) +
         fmt::format("; {} to {} are expected", low, high);
}

Fault loop_fault(const Nest& nest, const Loop& loop, const LoopPolicy& p, const Device& device) {
  const size_t outer = nest.outer.size();
  const auto named = [&](int axis) { return axis_name(axis, loop.out_rank); };
  const auto rank = static_cast<int>(loop.extents.size());
  if (p.vector_axis < -1 || p.vector_axis >= rank || p.block_axis < -1 || p.block_axis >= rank) {
    return fmt::format("the loop has {} axes", rank);
  }
  if (p.vector_axis < 0) {
    if (p.lanes != 1 || p.unroll != 1) return "vectors need an axis";
  } else {
    if (!may_be_vector_axis(loop, outer, static_cast<size_t>(p.vector_axis))) {
      return fmt::format("vectors cannot lie along {}", named(p.vector_axis));
    }
    const int most = most_lanes(loop, device);
    if (!std::has_single_bit(static_cast<unsigned>(p.lanes)) || p.lanes < 2 || p.lanes > most) {
      return fmt::format("vectors of {}; a power of two from 2 to {} is expected", p.lanes, most);
    }
    if (auto fault = range_fault("unrolled by {}", p.unroll, 1, kMostUnroll)) return fault;
  }
  if (p.block_axis < 0) {
    if (p.block != 1) return "a block needs an axis";
  } else {
    if (!may_be_block_axis(loop, outer, p.vector_axis, static_cast<size_t>(p.block_axis))) {
      return fmt::format("{} cannot be cut into blocks", named(p.block_axis));
    }
    const int64_t most =
        std::min<int64_t>(kMostBlock, loop.extents[static_cast<size_t>(p.block_axis)]);
    if (auto fault = range_fault("blocks of {}", p.block, 2, most)) return fault;
  }
  if (!is_small_enough(loop, p)) return "the unrolled loop body is too large";
  if (p.streaming && !may_stream(nest, loop, p)) {
    return "stores that are not whole aligned vectors cannot go past the caches";
  }
  return std::nullopt;
}

Fault nest_fault(const Nest& nest, const NestPolicy& policy, const Device& device) {
  if (policy.loops.size() != nest.loops.size()) {
    return fmt::format("it has {} loops, {} are decided", nest.loops.size(), policy.loops.size());
  }
  if (!has_open_outer(nest) && policy.outer != static_cast<int>(nest.outer.size())) {
    return fmt::format("it has {} outer axes, not {}", nest.outer.size(), policy.outer);
  }
  for (size_t i = 0; i < nest.loops.size(); ++i) {
    if (auto fault = loop_fault(nest, nest.loops[i], policy.loops[i], device)) {
      return fmt::format("loop {}: {}", i + 1, *fault);
    }
  }
  if (!has_open_outer(nest)) return std::nullopt;
  return range_fault("{} outer axes", policy.outer, 0, most_outer(nest.loops[0], policy.loops[0]));
}

Fault product_fault(const Schedule& schedule, const ProductItem& item, const ProductPolicy& p,
                    const Device& device) {
  const ProductShape& shape = item.shape;
  if (p.strip < 0 || (p.strip > 0 && !shape.transformed)) {
    return "strips are for Winograd's and Strassen's algorithms";
  }
  if (!p.packing.loops.empty()) {
    const auto packing = packing_nest(schedule, item);
    if (!packing) return "nothing is packed here";
    if (auto fault = nest_fault(*packing, p.packing, device)) return "pack: " + *fault;
    for (const LoopPolicy& loop : p.packing.loops) {
      if (loop.streaming) return "packing loops cannot stream: the product reads the block at once";
      for (const int axis : {loop.vector_axis, loop.block_axis}) {
        if (axis >= 0 && axis == packing->ranged_axis) return "pack: blocks end along that axis";
      }
    }
  }
  const int lanes = most_lanes(shape, device);
  if (!std::has_single_bit(static_cast<unsigned>(p.lanes)) || p.lanes > lanes ||
      p.lanes < std::min(2, lanes)) {
    return fmt::format("vectors of {}; a power of two up to {} is expected", p.lanes, lanes);
  }
  if (auto fault = range_fault("tiles of {} rows", p.rows, 1, most_tile_rows(shape))) return fault;
  if (auto fault = range_fault("tiles of {} vectors", p.vectors, 1, kMostTileVectors)) return fault;
  if (!tile_fits(p.rows, p.vectors, device)) {
    return fmt::format("a tile of {} x {} vectors does not fit into {} registers", p.rows,
                       p.vectors, device.vector_registers);
  }
  if (shape.transformed) {
    const int64_t width = int64_t{p.vectors} * p.lanes;
    if (shape.columns % width != 0 || p.columns != width || p.depth != shape.depth) {
      return fmt::format(
          "blocks of {} columns, {} deep; as wide as a tile, which must divide {} columns, and {} "
          "deep is expected",
          p.columns, p.depth, shape.columns, shape.depth);
    }
    if (!p.columns_first || p.streaming) return "first=columns without stream is expected";
    return std::nullopt;
  }
  if (!is_block(p.depth, shape.depth_step, shape.depth)) {
    return fmt::format("blocks {} deep; {}, or a multiple of {} below it, is expected", p.depth,
                       shape.depth, shape.depth_step);
  }
  const int64_t unit = column_unit(shape, p);
  if (!is_block(p.columns, unit, shape.columns)) {
    return fmt::format("blocks of {} columns; {}, or a multiple of {} below it, is expected",
                       p.columns, shape.columns, unit);
  }
  if (p.prefetch && shape.right == Side::packed) return "what is packed cannot be prefetched";
  return std::nullopt;
}

// Refuses an algorithm that is not applicable to its stage, neither under the other decisions nor
// without any: in the search space, which starts from the latter, decisions may rule each other
// out.
Fault algorithm_fault(const Structure& structure, const Workload& workload) {
  if (numerics_of(structure) > workload.numerics) {
    return fmt::format(
        "it uses an algorithm of class {}, but only {} is allowed (op_select_implmode, "
        "allow_strassen)",
        name(numerics_of(structure)), name(workload.numerics));
  }
  Structure copied = structure;
  for (StagePolicy& stage : copied.stages) stage.copied = true;
  std::optional<Schedule> schedule, plain;  // computed only if some stage has an algorithm
  const auto applies = [&](size_t s, const auto& can) {
    if (!schedule) schedule = schedule_of(workload, copied);
    if (can(schedule->applicable[s])) return true;
    if (!plain) plain = schedule_of(workload, {});
    return can(plain->applicable[s]);
  };
  for (size_t s = 0; s < structure.stages.size(); ++s) {
    const StagePolicy& stage = structure.stages[s];
    const auto transforms = [](const Schedule::Transforms& can) {
      return can.winograd.has_value();
    };
    if (stage.winograd != 0 && !applies(s, transforms)) {
      return fmt::format("stage {}: winograd{} is for convolutions of 3 x 3 with channels last", s,
                         stage.winograd);
    }
    const auto halves = [](const Schedule::Transforms& can) { return can.strassen_columns > 0; };
    if (stage.strassen && !applies(s, halves)) {
      return fmt::format(
          "stage {}: strassen is for products of f32 with one matrix of weights, of an even depth "
          "and even columns",
          s);
    }
    const auto is_windowed = [](const Schedule::Transforms& can) { return can.windowed; };
    if (!stage.copied && !applies(s, is_windowed)) {
      return fmt::format("stage {}: direct is for windows with steps, which would be copied", s);
    }
  }
  return std::nullopt;
}

}  // namespace

int most_lanes(const Loop& loop, const Device& device) {
  int widest = 4;
  for_each_value(loop.values(), [&](const Expr& e) {
    if (e.dtype() != DType::boolean) widest = std::max(widest, info(e.dtype()).bytes);
  });
  return device.vector_bytes / widest;
}

int most_lanes(const ProductShape& shape, const Device& device) {
  int lanes = dot_of(shape.dtype, device)->lanes(device.vector_bytes);
  while (lanes / 2 >= shape.columns && lanes > 1) lanes /= 2;
  return lanes;
}

bool tile_fits(int rows, int vectors, const Device& device) {
  constexpr int kSpare = 2;
  return (rows + 1) * vectors + 1 <= device.vector_registers + kSpare;
}

int most_tile_rows(const ProductShape& shape) {
  return static_cast<int>(std::min<int64_t>(kMostTileRows, shape.line));
}

int64_t column_unit(const ProductShape& shape, const ProductPolicy& policy) {
  // Prepacked weights are in panels as wide as a tile, and a block must begin with a panel.
  return shape.right == Side::packed ? shape.column_step : int64_t{policy.vectors} * policy.lanes;
}

bool is_block(int64_t block, int64_t unit, int64_t all) {
  return block == all || (block > 0 && block < all && block % unit == 0);
}

bool may_be_vector_axis(const Loop& loop, size_t outer, size_t axis) {
  if (axis < outer || loop.extents[axis] < 2) return false;
  if (!loop.is_reduced(axis)) return true;
  return axis + 1 == loop.extents.size() && is_builtin(*loop.reducer);
}

bool may_be_block_axis(const Loop& loop, size_t outer, int vector_axis, size_t axis) {
  return axis >= outer && axis < loop.out_rank && loop.extents[axis] >= 2 &&
         static_cast<int>(axis) != vector_axis;
}

bool is_small_enough(const Loop& loop, const LoopPolicy& policy) {
  const int points = policy.unroll * policy.block;
  if (points <= kAlwaysSmall) return true;
  int64_t nodes = 0;
  for_each_value(loop.values(), [&](const Expr&) { ++nodes; });
  return points <= kMostPoints && nodes * points <= kMostNodes;
}

int most_outer(const Loop& loop, const LoopPolicy& policy) {
  int most = static_cast<int>(loop.out_rank);
  for (const int axis : {policy.vector_axis, policy.block_axis}) {
    if (axis >= 0) most = std::min(most, axis);
  }
  return most;
}

Fault fault_of(const Structure& structure, const Workload& workload) {
  for (const StagePolicy& stage : structure.stages) {
    if (stage.winograd != 0 && std::find(kWinogradTiles.begin(), kWinogradTiles.end(),
                                         stage.winograd) == kWinogradTiles.end()) {
      return fmt::format("winograd{}; winograd2 or winograd4 is expected", stage.winograd);
    }
  }
  if (structure.stages.size() > workload.stages.size()) {
    return fmt::format("it decides about {} stages, the workload has {}", structure.stages.size(),
                       workload.stages.size());
  }
  if (!structure.strips.empty()) {
    const Schedule schedule = schedule_of(workload, structure);
    for (size_t i = 0; i < structure.strips.size(); ++i) {
      if (schedule.strip_loops[i].axes > 0) continue;
      const Strips& strips = structure.strips[i];
      return fmt::format(
          "stages {} to {} cannot be computed by strips of {} along {}: strips must divide the "
          "axis, each stage read those before strip by strip, no other stage read them, and no "
          "stage "
          "be in two loops over strips",
          strips.first, strips.last, strips.rows, axis_name(strips.axis, kHighestRank));
    }
  }
  return algorithm_fault(structure, workload);
}

Fault fault_of(const Policy& policy, const Schedule& schedule, const Device& device) {
  if (auto fault = range_fault("{} threads", policy.threads, 0, kMostPolicyThreads)) return fault;
  if (policy.items.size() != schedule.items.size()) {
    return fmt::format("it has decisions for {} nests and products, the workload has {} of them",
                       policy.items.size(), schedule.items.size());
  }
  for (size_t i = 0; i < policy.items.size(); ++i) {
    const auto* nest = std::get_if<Nest>(&schedule.items[i]);
    const auto* loops = std::get_if<NestPolicy>(&policy.items[i]);
    if ((nest == nullptr) != (loops == nullptr)) {
      return fmt::format("item {} is decided as a {}, but is a {}", i + 1,
                         loops != nullptr ? "nest of loops" : "product",
                         nest != nullptr ? "nest of loops" : "product");
    }
    const Fault fault = nest != nullptr
                            ? nest_fault(*nest, *loops, device)
                            : product_fault(schedule, std::get<ProductItem>(schedule.items[i]),
                                            std::get<ProductPolicy>(policy.items[i]), device);
    if (fault) return fmt::format("item {}: {}", i + 1, *fault);
  }
  return std::nullopt;
}

Fault validate(const Policy& policy, const Workload& workload, const Device& device) {
  if (auto fault = fault_of(policy.structure, workload)) return fault;
  return fault_of(policy, schedule_of(workload, policy.structure), device);
}

}  // namespace aoe

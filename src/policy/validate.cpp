#include "policy/validate.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <set>

#include "device/dot.h"
#include "expr/rewrite.h"
#include "expr/text.h"
#include "policy/packing.h"
#include "policy/streaming.h"

namespace aoe {
namespace {

using Fault = std::optional<std::string>;

// Nodes of expressions that a body may have in all its points: more is compiled for seconds and
// leaves the instruction cache. The default's largest bodies, transposed squares, are always fine.
constexpr int64_t kMostNodes = 8192;
constexpr int kAlwaysSmall = 16;
constexpr int kMostPoints = 32;

void visit_values(const Expr& e, std::set<const Expr::Node*>& seen,
                  const std::function<void(const Expr&)>& visit) {
  if (!seen.insert(&*e).second) return;
  visit(e);
  if (e->op == ExprOp::load) {
    if (has_outside(e)) visit_values(e->operands.back(), seen, visit);
    return;
  }
  for (const Expr& operand : e->operands) visit_values(operand, seen, visit);
}

// Not what stands in an index: it is computed once for a vector.
void for_each_value(const Loop& loop, const std::function<void(const Expr&)>& visit) {
  std::set<const Expr::Node*> seen;
  for (const Expr& expr : loop.elements) visit_values(expr, seen, visit);
  for (const Expr& expr : loop.results) visit_values(expr, seen, visit);
}

bool is_power_of_two(int64_t number) {
  return number > 0 && std::has_single_bit(static_cast<uint64_t>(number));
}

Fault loop_fault(const Nest& nest, const Loop& loop, size_t outer, const LoopPolicy& p,
                 const Device& device) {
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
    if (!is_power_of_two(p.lanes) || p.lanes < 2 || p.lanes > most) {
      return fmt::format("vectors of {}; a power of two from 2 to {} is expected", p.lanes, most);
    }
    if (p.unroll < 1 || p.unroll > kMostUnroll) {
      return fmt::format("{} vectors side by side; 1 to {} are expected", p.unroll, kMostUnroll);
    }
  }
  if (p.block_axis < 0) {
    if (p.block != 1) return "a block needs an axis";
  } else {
    if (!may_be_block_axis(loop, outer, p.vector_axis, static_cast<size_t>(p.block_axis))) {
      return fmt::format("{} cannot be cut into blocks", named(p.block_axis));
    }
    const int64_t most =
        std::min<int64_t>(kMostBlock, loop.extents[static_cast<size_t>(p.block_axis)]);
    if (p.block < 2 || p.block > most) {
      return fmt::format("blocks of {}; 2 to {} are expected", p.block, most);
    }
  }
  if (!is_small_enough(loop, p)) return "unrolled this much, the loop is too much code";
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
    if (auto fault = loop_fault(nest, nest.loops[i], nest.outer.size(), policy.loops[i], device)) {
      return fmt::format("loop {}: {}", i + 1, *fault);
    }
  }
  if (has_open_outer(nest)) {
    const int most = most_outer(nest.loops[0], policy.loops[0]);
    if (policy.outer < 0 || policy.outer > most) {
      return fmt::format("{} outer axes; 0 to {} are expected", policy.outer, most);
    }
  }
  return std::nullopt;
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
    const auto streams = [](const LoopPolicy& loop) { return loop.streaming; };
    if (std::any_of(p.packing.loops.begin(), p.packing.loops.end(), streams)) {
      return "what is packed is read at once: it cannot go past the caches";
    }
    for (size_t i = 0; i < packing->loops.size(); ++i) {
      for (const int axis : {p.packing.loops[i].vector_axis, p.packing.loops[i].block_axis}) {
        if (axis >= 0 && axis == packing->ranged_axis) return "pack: blocks end along that axis";
      }
    }
  }
  const int lanes = most_lanes(shape, device);
  if (!is_power_of_two(p.lanes) || p.lanes > lanes || p.lanes < std::min(2, lanes)) {
    return fmt::format("vectors of {}; a power of two up to {} is expected", p.lanes, lanes);
  }
  const int64_t rows = std::min<int64_t>(kMostTileRows, shape.line);
  if (p.rows < 1 || p.rows > rows) {
    return fmt::format("tiles of {} rows; 1 to {} are expected", p.rows, rows);
  }
  if (p.vectors < 1 || p.vectors > kMostTileVectors) {
    return fmt::format("tiles of {} vectors; 1 to {} are expected", p.vectors, kMostTileVectors);
  }
  if (p.rows * p.vectors + p.vectors + 1 > most_tile_registers(device)) {
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
  const auto is_block = [](int64_t block, int64_t unit, int64_t all) {
    return block == all || (block > 0 && block < all && block % unit == 0);
  };
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

// An algorithm must be one that its stage can run by: with the other decisions, or without any, as
// the space of policies has it, where they may rule each other out.
Fault algorithm_fault(const Structure& structure, const Workload& workload) {
  const auto names_one = [](const StagePolicy& stage) {
    return stage.winograd != 0 || stage.strassen || !stage.copied;
  };
  if (std::none_of(structure.stages.begin(), structure.stages.end(), names_one)) {
    return std::nullopt;
  }
  Structure copied = structure;
  for (StagePolicy& stage : copied.stages) stage.copied = true;
  const Schedule schedule = schedule_of(workload, copied);
  std::optional<Schedule> plain;
  const auto applies = [&](size_t s, const auto& can) {
    if (can(schedule.fates[s])) return true;
    if (!plain) plain = schedule_of(workload, {});
    return can(plain->fates[s]);
  };
  for (size_t s = 0; s < structure.stages.size(); ++s) {
    const StagePolicy& stage = structure.stages[s];
    const auto transforms = [](const Schedule::Fate& fate) { return fate.winograd.has_value(); };
    if (stage.winograd != 0 && !applies(s, transforms)) {
      return fmt::format("stage {}: winograd{} is for convolutions of 3 x 3 with channels last", s,
                         stage.winograd);
    }
    const auto halves = [](const Schedule::Fate& fate) { return fate.strassen_columns > 0; };
    if (stage.strassen && !applies(s, halves)) {
      return fmt::format(
          "stage {}: strassen is for products of f32 with one matrix of weights, of an even depth "
          "and "
          "even columns",
          s);
    }
    const auto is_windowed = [](const Schedule::Fate& fate) { return fate.windowed; };
    if (!stage.copied && !applies(s, is_windowed)) {
      return fmt::format("stage {}: direct is for windows with steps, which would be copied", s);
    }
  }
  return std::nullopt;
}

}  // namespace

int most_lanes(const Loop& loop, const Device& device) {
  int widest = 4;
  for_each_value(loop, [&](const Expr& e) {
    if (e.dtype() != DType::boolean) widest = std::max(widest, info(e.dtype()).bytes);
  });
  return device.vector_bytes / widest;
}

int most_lanes(const ProductShape& shape, const Device& device) {
  int lanes = dot_of(shape.dtype, device)->lanes(device.vector_bytes);
  while (lanes / 2 >= shape.columns && lanes > 1) lanes /= 2;
  return lanes;
}

int most_tile_registers(const Device& device) { return device.vector_registers + 2; }

int64_t column_unit(const ProductShape& shape, const ProductPolicy& policy) {
  // A fixed side is laid out in panels as wide as a tile; a block must begin with one.
  return shape.right == Side::packed ? shape.column_step : int64_t{policy.vectors} * policy.lanes;
}

bool may_be_vector_axis(const Loop& loop, size_t outer, size_t axis) {
  if (axis < outer || loop.extents[axis] < 2) return false;
  if (!loop.is_reduced(axis)) return true;
  return axis + 1 == loop.extents.size() && is_standard(*loop.reducer);
}

bool may_be_block_axis(const Loop& loop, size_t outer, int vector_axis, size_t axis) {
  return axis >= outer && axis < loop.out_rank && loop.extents[axis] >= 2 &&
         static_cast<int>(axis) != vector_axis;
}

bool is_small_enough(const Loop& loop, const LoopPolicy& policy) {
  const int points = policy.unroll * policy.block;
  if (points <= kAlwaysSmall) return true;
  int64_t nodes = 0;
  for_each_value(loop, [&](const Expr&) { ++nodes; });
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
      return fmt::format("stages {} to {} cannot be computed by strips of {} along {}",
                         strips.first, strips.last, strips.rows,
                         axis_name(strips.axis, kHighestRank));
    }
  }
  return algorithm_fault(structure, workload);
}

Fault fault_of(const Policy& policy, const Schedule& schedule, const Device& device) {
  if (policy.threads < 0 || policy.threads > kMostPoliciedThreads) {
    return fmt::format("{} threads; 0 to {} are expected", policy.threads, kMostPoliciedThreads);
  }
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

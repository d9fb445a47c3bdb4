#include "policy/estimate.h"

#include <algorithm>
#include <map>
#include <set>

#include "device/machine_model.h"
#include "expr/affine.h"
#include "expr/rewrite.h"
#include "policy/packing.h"
#include "policy/schedule.h"

// Estimates the time of a workload under its default policy. In reading order:
//   LoopEstimate          a loop of a nest: its steps, results and stores, as vectors
//   nest_cycles           all loops of a nest, or the bytes that it moves, whichever takes longer
//   packing_cycles        copies of a right side that is packed at run time
//   product_item_cycles   the tiles of a product, or the bytes that it moves, and its packing
//   estimated_seconds     the sum over the items of the default schedule
//
// Invariant: all terms are cycles of one core by the rates of device/machine_model.h, and depend on
// the workload and the device only.

namespace aoe {
namespace {

// Cost of a vector operation, relative to a multiplication.
double operation_cost(ExprOp op) {
  switch (cost_of(op)) {
    case OpCost::none: return 0;
    case OpCost::simple: return 1;
    case OpCost::division: return machine::kDivision;
    case OpCost::function: return machine::kFunction;
  }
  return 0;
}

// Estimates the cycles of one loop of a nest under its policy.
class LoopEstimate {
 public:
  LoopEstimate(const Loop& loop, const Device& device)
      : loop_(loop),
        policy_(loop.policy),
        across_(policy_.vector_axis >= 0 &&
                loop.is_reduced(static_cast<size_t>(policy_.vector_axis))),
        each_(loop.policy.lanes > 1 ? machine::vector_cycles(device) : machine::kScalarCycles) {}

  double cycles() {
    const auto points = static_cast<double>(element_count(loop_.extents));
    const auto out_points = static_cast<double>(element_count(loop_.out_extents()));
    double vectors = 1;  // per element
    if (policy_.vector_axis >= 0) {
      const int64_t extent = loop_.extents[static_cast<size_t>(policy_.vector_axis)];
      vectors = static_cast<double>(ceil_div(extent, int64_t{policy_.lanes})) /
                static_cast<double>(extent);
    }
    double total = 0;
    if (loop_.reducer) {
      double step = 0;
      for (const Expr& element : loop_.elements) step += cycles_of(element);
      // A multiplication and the addition of its product are one instruction.
      step += each_ * static_cast<double>(loop_.reducer->combine.size());
      if (loop_.elements[0]->op == ExprOp::mul && is_sum(*loop_.reducer)) step -= each_;
      // The latency of the accumulators, of which unroll x block are independent.
      step = std::max(step, machine::kLatency / (policy_.unroll * policy_.block));
      total += points * vectors * step;
      if (across_) total += out_points * machine::kFoldingCycles;
      if (across_) vectors = 1;
    }
    double last = 0;
    for (const Expr& result : loop_.results) last += cycles_of(result);
    for (const NestStore& store : loop_.stores) last += cycles_of_store(store);
    for (const Loop::Kept& kept : loop_.kept)
      total += points * vectors * cycles_of_store(kept.store);
    total += out_points * vectors * last;
    // An iteration processes unroll x block vectors.
    return total + points * vectors / (policy_.unroll * policy_.block) * machine::kIterationCycles;
  }

 private:
  double cycles_of(const Expr& e) {
    if (!seen_.insert(&*e).second) return 0;
    if (e->op == ExprOp::load) return cycles_of_load(e);
    double cycles = operation_cost(e->op) * each_;
    for (const Expr& operand : e->operands) cycles += cycles_of(operand);
    return cycles;
  }

  int64_t stride(const Affine& form) const {
    if (policy_.vector_axis < 0) return 0;
    return form.coefficients[static_cast<size_t>(policy_.vector_axis)];
  }

  double cycles_of_load(const Expr& load) {
    const auto form =
        load->linear ? affine_of(load->operands[0], loop_.extents.size()) : std::nullopt;
    if (!form) return irregular(load);
    const int64_t along = stride(*form);
    if (along == 0 || along == 1) return each_;
    // Whole vectors are loaded and deinterleaved.
    if (along > 1 && along <= machine::kLargestDeinterleavedStride)
      return each_ * static_cast<double>(along + 1);
    const bool turned = policy_.block_axis >= 0 && policy_.block == policy_.lanes &&
                        form->coefficients[static_cast<size_t>(policy_.block_axis)] == 1;
    return turned ? machine::kTransposedVector * each_ : policy_.lanes;
  }

  // Cycles of a load that is guarded, or whose address is known only at run time.
  double irregular(const Expr& load) const {
    if (load->linear) return 2.0 * policy_.lanes;
    if (policy_.vector_axis < 0) return machine::kBoundsCheckedLoad;
    // Contiguous if the vector axis has stride 0 or 1 in the last dimension and 0 in the others.
    for (int d = 0; d < load->rank; ++d) {
      const auto form = affine_of(load->operands[static_cast<size_t>(d)], loop_.extents.size());
      const int64_t most = d + 1 == load->rank ? 1 : 0;
      if (!form || stride(*form) < 0 || stride(*form) > most) return 2.0 * policy_.lanes;
    }
    return machine::kBoundsCheckedLoad * each_;
  }

  double cycles_of_store(const NestStore& store) const {
    const auto form = affine_of(store.offset, loop_.extents.size());
    return across_ || policy_.vector_axis < 0 || stride(*form) == 1 ? each_ : policy_.lanes;
  }

  const Loop& loop_;
  const LoopPolicy& policy_;
  const bool across_;  // vectors go along a reduced axis
  const double each_;  // cycles of a simple operation on a vector
  std::set<const Expr::Node*> seen_;
};

double nest_cycles(const Nest& nest, const Device& device) {
  double cycles = 0;
  std::map<size_t, double> bytes;  // by buffer: most bytes that one loop reads or writes
  for (const Loop& loop : nest.loops) {
    const double times = loop.once ? 1.0 / static_cast<double>(nest.points()) : 1;
    cycles += LoopEstimate(loop, device).cycles() * times;
    const auto touch = [&](int64_t which) {
      const size_t memory = nest.memory_of(static_cast<size_t>(which));
      const NestBuffer& buffer = nest.buffers[memory];
      if (buffer.row) return;
      const int64_t seen = std::min(element_count(loop.extents), element_count(buffer.shape));
      bytes[memory] = std::max(bytes[memory], static_cast<double>(seen * info(buffer.dtype).bytes));
    };
    const auto look = [&](const Expr& e) {
      if (e->op == ExprOp::load) touch(e->id);
    };
    for (const Expr& expr : loop.values()) for_each_node(expr, look);
    for (const NestStore& store : loop.stores) touch(store.buffer);
  }
  double all_bytes = 0;
  for (const auto& [buffer, seen] : bytes) all_bytes += seen;
  return std::max(cycles, machine::moving_cycles(all_bytes, device)) + machine::kItemOverheadCycles;
}

// Cycles of packing the right side at run time: by vectors if windows are copied by rows or the
// stride of the columns is at most kLargestDeinterleavedStride, else by elements.
double packing_cycles(const Schedule& schedule, const ProductItem& item, const Device& device) {
  if (item.shape.right != Side::packed) return 0;
  const Stage& stage = schedule.workload.stages[item.stage];
  const Contraction c = *contraction_of(stage);
  const auto elements =
      static_cast<double>(item.shape.outer * item.shape.depth * item.shape.columns);
  const int lanes = std::max(1, device.vector_bytes / info(item.shape.dtype).bytes);
  using namespace machine;
  if (packs_by_rows(schedule.workload, stage, c))
    return elements * (kPackedVector + kStridedExtraVector) / lanes;
  const auto pattern = access_pattern(schedule.workload, stage, c, c.right);
  const Stride along = pattern && !pattern->columns.empty() ? pattern->columns.back() : Stride{};
  if (along.extent < lanes / 2 || along.stride < 1 || along.stride > kLargestDeinterleavedStride)
    return elements * kElement;
  return elements * (kPackedVector + kStridedExtraVector * static_cast<double>(along.stride - 1)) /
         lanes;
}

double product_item_cycles(const Schedule& schedule, const ProductItem& item,
                           const ProductPolicy& policy, const Device& device) {
  const ProductShape& shape = item.shape;
  const int bytes = info(shape.dtype).bytes;
  const auto weights = static_cast<double>(shape.outer * shape.depth * shape.columns * bytes);
  const double each = machine::vector_cycles(device);
  const Stage& stage = schedule.workload.stages[item.stage];
  if (item.winograd != 0) {
    const Winograd w = *winograd_of(schedule.workload, stage);
    const double positions = (item.winograd + 2.0) * (item.winograd + 2.0);
    const double products = positions * product_cycles(shape, policy, device, each);
    return winograd_cycles(w, item.winograd, products, device) + machine::kItemOverheadCycles;
  }
  const auto left = static_cast<double>(shape.outer * shape.left_elements * bytes);
  const auto made = static_cast<double>(shape.outer * shape.rows * shape.columns * bytes);
  const double moved = machine::moving_cycles(left + weights + made, device);
  return std::max(product_cycles(shape, policy, device, each), moved) +
         packing_cycles(schedule, item, device) + machine::kItemOverheadCycles;
}

}  // namespace

double estimated_seconds(const Workload& workload, const Device& device) {
  const auto [schedule, policy] = default_schedule(workload, device);
  double cycles = 0;
  for (size_t i = 0; i < schedule.items.size(); ++i) {
    if (const auto* nest = std::get_if<Nest>(&schedule.items[i])) {
      cycles += nest_cycles(decided(*nest, std::get<NestPolicy>(policy.items[i])), device);
    } else {
      cycles += product_item_cycles(schedule, std::get<ProductItem>(schedule.items[i]),
                                    std::get<ProductPolicy>(policy.items[i]), device);
    }
  }
  return cycles / machine::kHertz;
}

}  // namespace aoe

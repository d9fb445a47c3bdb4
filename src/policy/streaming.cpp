#include "policy/streaming.h"

#include <algorithm>

#include "device/machine_model.h"
#include "expr/affine.h"
#include "expr/rewrite.h"

namespace aoe {
namespace {

bool may_gather_turned(const Nest& nest, const Loop& loop, const LoopPolicy& policy) {
  // A square of the last two axes, whose blocks have no remainder.
  const size_t rank = loop.extents.size();
  if (nest.loops.size() != 1 || !nest.outer.empty() || nest.ranged_axis >= 0 || loop.reducer ||
      loop.stores.size() != 1 || rank < 2 || policy.vector_axis != static_cast<int>(rank) - 1 ||
      policy.block_axis != static_cast<int>(rank) - 2 || policy.block != policy.lanes ||
      loop.extents[rank - 2] % policy.block != 0) {
    return false;
  }
  const NestBuffer& buffer = nest.buffers[static_cast<size_t>(loop.stores[0].buffer)];
  const int64_t gathered = policy.block * loop.extents[rank - 1];
  const auto form = affine_of(loop.stores[0].offset, rank);
  if (buffer.row || gathered * info(buffer.dtype).bytes > machine::kLargestGathered || !form ||
      form->constant % gathered != 0) {
    return false;
  }
  for (size_t axis = 0; axis + 2 < rank; ++axis) {
    if (form->coefficients[axis] % gathered != 0) return false;
  }
  return form->coefficients[rank - 2] == loop.extents[rank - 1] &&
         form->coefficients[rank - 1] == 1;
}

}  // namespace

bool stores_whole_vectors(const Nest& nest, const Loop& loop, const LoopPolicy& policy) {
  return std::all_of(loop.stores.begin(), loop.stores.end(), [&](const NestStore& store) {
    const auto form = affine_of(store.offset, loop.extents.size());
    if (nest.buffers[static_cast<size_t>(store.buffer)].row || !form ||
        form->constant % policy.lanes != 0) {
      return false;
    }
    for (size_t axis = 0; axis < loop.extents.size(); ++axis) {
      const int64_t stride = form->coefficients[axis];
      const bool vector = static_cast<int>(axis) == policy.vector_axis;
      if (vector ? stride != 1 : stride % policy.lanes != 0) return false;
    }
    return true;
  });
}

bool may_stream(const Nest& nest, const Loop& loop, const LoopPolicy& policy) {
  if (policy.vector_axis < 0 || loop.is_reduced(static_cast<size_t>(policy.vector_axis))) {
    return false;
  }
  return stores_whole_vectors(nest, loop, policy) || may_gather_turned(nest, loop, policy);
}

bool is_worth_streaming(const Nest& nest, const Loop& loop, const Device& device) {
  return std::any_of(loop.stores.begin(), loop.stores.end(), [&](const NestStore& store) {
    const NestBuffer& buffer = nest.buffers[static_cast<size_t>(store.buffer)];
    return machine::exceeds_caches(device, element_count(buffer.shape) * info(buffer.dtype).bytes);
  });
}

Nest gather_transposed(Nest nest) {
  Loop& turned = nest.loops[0];
  const LoopPolicy policy = turned.policy;
  const NestStore out = turned.stores[0];
  const auto block = static_cast<size_t>(policy.block_axis);
  const int64_t length = turned.extents[block + 1];
  const DType dtype = nest.buffers[static_cast<size_t>(out.buffer)].dtype;
  const auto row = static_cast<int>(nest.buffers.size());
  nest.buffers.push_back({.dtype = dtype, .shape = {policy.block, length}, .row = true});

  turned.split(block, policy.block);
  turned.stores[0] = {row, Expr::axis(block + 1) * length + Expr::axis(block + 2)};
  turned.policy.vector_axis += 1;
  turned.policy.block_axis += 1;
  turned.policy.streaming = false;
  nest.outer = head(turned.extents, block + 1);

  // The store offset of a block's first row, plus the position in the block.
  std::vector<Expr> axes = axes_from(0, block + 2);
  axes[block] = axes[block] * policy.block;
  Shape extents = nest.outer;
  extents.push_back(policy.block * length);
  Loop written = plain_loop(extents, {Expr::linear_load(row, dtype, Expr::axis(block + 1))},
                            {{out.buffer, with_axes(out.offset, axes)}});
  written.policy = {
      .vector_axis = policy.vector_axis, .lanes = policy.lanes, .unroll = 4, .streaming = true};
  nest.loops.push_back(std::move(written));
  return nest;
}

}  // namespace aoe

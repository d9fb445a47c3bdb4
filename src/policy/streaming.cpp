#include "policy/streaming.h"

#include <algorithm>

#include "device/machine_model.h"
#include "expr/affine.h"
#include "expr/rewrite.h"

namespace aoe {
namespace {

// A block should still be in the second-level cache when it is written.
constexpr int64_t kMostGathered = 128 << 10;

Expr axis_at(size_t axis) { return Expr::axis(static_cast<int64_t>(axis)); }

bool may_gather_turned(const Nest& nest, const Loop& loop, const LoopPolicy& policy) {
  // Along the results' last two axes, of which the blocks' is cut without a rest.
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
  if (buffer.row || gathered * info(buffer.dtype).bytes > kMostGathered || !form ||
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

Nest gather_turned(Nest nest) {
  Loop& turned = nest.loops[0];
  const LoopPolicy policy = turned.policy;
  const NestStore out = turned.stores[0];
  const auto block = static_cast<size_t>(policy.block_axis);
  const int64_t length = turned.extents[block + 1];
  const int64_t gathered = policy.block * length;

  nest.outer.assign(turned.extents.begin(), turned.extents.begin() + policy.block_axis);
  nest.outer.push_back(turned.extents[block] / policy.block);
  const DType dtype = nest.buffers[static_cast<size_t>(out.buffer)].dtype;
  const auto row = static_cast<int>(nest.buffers.size());
  nest.buffers.push_back({.dtype = dtype, .shape = {policy.block, length}, .row = true});

  std::vector<Expr> axes;
  for (size_t axis = 0; axis < block; ++axis) axes.push_back(axis_at(axis));
  axes.push_back(axis_at(block) * policy.block + axis_at(block + 1));
  axes.push_back(axis_at(block + 2));
  turned.results[0] = with_axes(turned.results[0], axes);
  turned.stores[0] = {row, axis_at(block + 1) * length + axis_at(block + 2)};
  turned.extents = nest.outer;
  turned.extents.insert(turned.extents.end(), {policy.block, length});
  turned.out_rank = turned.extents.size();
  turned.policy.vector_axis += 1;
  turned.policy.block_axis += 1;
  turned.policy.streaming = false;

  Loop written;
  written.extents = nest.outer;
  written.extents.push_back(gathered);
  written.out_rank = written.extents.size();
  axes[block] = axis_at(block) * policy.block;
  axes[block + 1] = axis_at(block + 1);
  written.results = {Expr::linear_load(row, dtype, axis_at(block + 1))};
  written.stores = {{out.buffer, with_axes(out.offset, axes)}};
  written.policy = {.vector_axis = static_cast<int>(block) + 1,
                    .lanes = policy.lanes,
                    .unroll = 4,
                    .streaming = true};
  nest.loops.push_back(std::move(written));
  return nest;
}

}  // namespace aoe

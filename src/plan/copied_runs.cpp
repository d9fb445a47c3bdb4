#include "plan/copied_runs.h"

#include <algorithm>

#include "expr/affine.h"
#include "expr/rewrite.h"
#include "loop/split_at_edges.h"
#include "policy/stage_groups.h"

namespace aoe {
namespace {

// The offset of the first element, if the access pattern over all axes is contiguous.
std::optional<int64_t> start_of_run(const std::optional<Affine>& offset, const Shape& extents) {
  if (!offset) return std::nullopt;
  int64_t step = 1;
  for (size_t axis = extents.size(); axis-- > 0; step *= extents[axis]) {
    if (extents[axis] > 1 && offset->coefficients[axis] != step) return std::nullopt;
  }
  return offset->constant;
}

// The loop that stores one result of a stage; its buffers are numbered as the workload's values.
Loop loop_of(const Stage& stage, size_t result, int value) {
  const Expr offset = offset_of(axes_from(0, stage.axes.size()), stage.axes);
  return plain_loop(stage.axes, {stage.results[result]}, {{value, offset}});
}

}  // namespace

std::optional<std::vector<CopiedRun>> copied_runs(const Workload& workload, size_t output) {
  // Most workloads are no copies: reject those early whose expressions compute something.
  for (const Stage& stage : workload.stages) {
    if (stage.reducer) return std::nullopt;
    for (const Expr& result : stage.results) {
      if (result->op != ExprOp::load && result->op != ExprOp::select) return std::nullopt;
    }
  }
  std::vector<size_t> original_stage;
  const Workload whole =
      inline_stages(workload, std::vector<bool>(workload.stages.size(), true), original_stage);
  const auto input_of = [&](int value) -> std::optional<size_t> {
    for (size_t i = 0; i < whole.inputs.size(); ++i) {
      if (whole.storage(whole.inputs[i]) == whole.storage(value)) return i;
    }
    return std::nullopt;
  };
  const int wanted = whole.outputs[output];
  const TensorType& type = whole.values[static_cast<size_t>(wanted)].type;
  if (type.count() == 0) return std::vector<CopiedRun>{};
  if (const auto input = input_of(wanted)) {
    return std::vector<CopiedRun>{{*input, 0, 0, type.count()}};
  }
  const int made = whole.storage(wanted);
  std::vector<NestBuffer> buffers;
  for (const Workload::Value& value : whole.values) {
    buffers.push_back({value.type.dtype, value.type.shape, -1, false});
  }
  for (const Stage& stage : whole.stages) {
    const auto found = std::find(stage.outputs.begin(), stage.outputs.end(), made);
    if (found == stage.outputs.end()) continue;
    const auto result = static_cast<size_t>(found - stage.outputs.begin());
    std::vector<CopiedRun> runs;
    for (const Loop& part : parts_of(buffers, loop_of(stage, result, made), 0)) {
      const Expr& load = part.results[0];
      if (load->op != ExprOp::load) return std::nullopt;
      const auto value = static_cast<int>(load->id);
      const auto input = input_of(value);
      const std::vector<Expr> index = index_of(load);
      const Shape& shape = buffers[static_cast<size_t>(value)].shape;
      const auto from =
          start_of_run(affine_offset(index, shape, part.extents.size()), part.extents);
      const auto to =
          start_of_run(affine_of(part.stores[0].offset, part.extents.size()), part.extents);
      if (!input || !from || !to || !stays_inside(index, shape, part.extents)) return std::nullopt;
      runs.push_back({*input, *from, *to, element_count(part.extents)});
    }
    return runs;
  }
  return std::nullopt;
}

}  // namespace aoe

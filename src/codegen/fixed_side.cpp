#include "codegen/fixed_side.h"

#include "codegen/step.h"
#include "expr/rewrite.h"

namespace aoe {

Tensor evaluated_side(const Workload& workload, const Stage& stage, const Expr& side,
                      const std::vector<size_t>& axes, const Device& device,
                      const std::vector<Tensor>& weights) {
  std::vector<Tensor> inputs;
  Workload only = with_weights_only(workload, weights, inputs);
  const Shape extents = stage.extents();
  Stage copy;
  std::vector<Expr> to(extents.size(), Expr::integer(DType::i64, 0));
  for (const size_t axis : axes) {
    to[axis] = Expr::axis(static_cast<int64_t>(copy.axes.size()));
    copy.axes.push_back(extents[axis]);
  }
  copy.results = {with_axes(side, to)};
  only.values.push_back({.type = {side.dtype(), copy.axes}, .view_of = -1, .constant = {}});
  copy.outputs = {static_cast<int>(only.values.size()) - 1};
  only.outputs = copy.outputs;
  only.stages = {std::move(copy)};
  return Kernel(std::make_shared<const Workload>(std::move(only)), device)
      .run(inputs, device.cores)[0];
}

}  // namespace aoe

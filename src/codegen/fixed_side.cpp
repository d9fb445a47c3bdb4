#include "codegen/fixed_side.h"

#include <algorithm>

#include "codegen/step.h"
#include "expr/affine.h"
#include "expr/rewrite.h"

namespace aoe {
namespace {

Tensor contents_of(const Workload& workload, int value, const std::vector<Tensor>& weights) {
  const int storage = workload.storage(value);
  const auto input = std::find(workload.inputs.begin(), workload.inputs.end(), storage);
  if (input == workload.inputs.end()) {
    return workload.values[static_cast<size_t>(storage)].constant;
  }
  return weights[static_cast<size_t>(input - workload.inputs.begin())];
}

// Whether a load reads all elements of its tensor over these axes in the order in which they lie.
bool is_in_order(const Workload& workload, const Expr& load, const Shape& axes) {
  if (load->op != ExprOp::load || has_outside(load)) return false;
  const Shape& shape = workload.values[static_cast<size_t>(load->id)].type.shape;
  if (element_count(shape) != element_count(axes)) return false;
  const Shape strides = row_major_strides(shape);
  Shape steps(axes.size());
  for (size_t d = 0; d < shape.size(); ++d) {
    const auto form = affine_of(load->operands[d], axes.size());
    if (!form || form->constant != 0) return false;
    for (size_t i = 0; i < axes.size(); ++i) steps[i] += form->coefficients[i] * strides[d];
  }
  const Shape expected = row_major_strides(axes);
  for (size_t i = 0; i < axes.size(); ++i) {
    if (axes[i] > 1 && steps[i] != expected[i]) return false;
  }
  return true;
}

}  // namespace

FixedSide fixed_side(const Workload& workload, const Stage& stage, const Contraction& contraction,
                     const Expr& side, const std::vector<size_t>& first,
                     const std::vector<size_t>& second, const Device& device,
                     const std::vector<Tensor>& weights) {
  const Shape extents = stage.extents();
  const std::vector<size_t>& outer = contraction.outer;
  FixedSide result{{}, std::vector<int64_t>(outer.size())};
  Stage copy;
  std::vector<Expr> to(extents.size(), Expr::integer(DType::i64, 0));
  const auto add = [&](size_t axis) {
    to[axis] = Expr::axis(static_cast<int64_t>(copy.axes.size()));
    copy.axes.push_back(extents[axis]);
  };
  const auto depends = [&](size_t axis) {
    return depends_on_axis(side, static_cast<int64_t>(axis));
  };
  for (const size_t axis : outer) {
    if (depends(axis)) add(axis);
  }
  int64_t step = element_count(copy.axes);
  for (size_t i = 0; i < outer.size(); ++i) {
    if (!depends(outer[i])) continue;
    step /= extents[outer[i]];
    result.outer_steps[i] = step;
  }
  for (const size_t axis : first) add(axis);
  for (const size_t axis : second) add(axis);

  const DType dtype = stage.elements[0].dtype();
  const Expr value = with_axes(side, to);
  if (value.dtype() == dtype && is_in_order(workload, value, copy.axes)) {
    result.elements = contents_of(workload, static_cast<int>(value->id), weights);
    return result;
  }
  std::vector<Tensor> inputs;
  Workload only = with_weights_only(workload, weights, inputs);
  copy.results = {value};
  only.values.push_back({.type = {dtype, copy.axes}, .view_of = -1, .constant = {}});
  copy.outputs = {static_cast<int>(only.values.size()) - 1};
  only.outputs = copy.outputs;
  only.stages = {std::move(copy)};
  // On one thread: kernels are made on as many as the caller has allowed.
  result.elements =
      Kernel(std::make_shared<const Workload>(std::move(only)), device).run(inputs, 1)[0];
  return result;
}

}  // namespace aoe

#include "codegen/kernel.h"

#include <cassert>

#include "codegen/nest_step.h"
#include "codegen/product_step.h"
#include "codegen/step.h"
#include "policy/fusion.h"
#include "policy/loop_defaults.h"
#include "policy/lower.h"
#include "policy/product_defaults.h"

namespace aoe {

Kernel::Kernel(std::shared_ptr<const Workload> workload, const Device& device,
               std::vector<Tensor> weights)
    : workload_(std::move(workload)), weights_(std::move(weights)) {
  Prepared ready = prepared(inlined(*workload_));
  scheduled_ = std::move(ready.workload);
  for (const Group& group : groups_of(scheduled_, ready.contracts)) {
    const Stage& first = scheduled_.stages[group.stages[0]];
    if (ready.contracts[group.stages[0]]) {
      const ProductShape shape = product_shape(scheduled_, first, *contraction_of(first));
      steps_.push_back(product_step(scheduled_, first, default_product(shape, device), device,
                                    weights_));
      continue;
    }
    for (Nest& nest : lower(scheduled_, group)) {
      bool empty = true;
      for (const Loop& loop : nest.loops) {
        Shape out(loop.extents.begin(), loop.extents.begin() + static_cast<int64_t>(loop.out_rank));
        empty = empty && element_count(out) == 0;
      }
      if (empty) continue;
      choose_loops(nest, device);
      steps_.push_back(nest_step(std::move(nest), device));
    }
  }
}

Kernel::~Kernel() = default;

std::vector<Tensor> Kernel::run(const std::vector<Tensor>& inputs, int threads) const {
  const size_t count = scheduled_.values.size();
  std::vector<Tensor> tensors(count);
  for (size_t i = 0; i < inputs.size(); ++i) {
    const auto id = static_cast<size_t>(scheduled_.inputs[i]);
    const bool kept = inputs[i].empty() && i < weights_.size();
    tensors[id] = kept ? weights_[i] : inputs[i];
    assert(tensors[id].type() == scheduled_.values[id].type);
  }
  for (size_t i = 0; i < count; ++i) {
    if (!scheduled_.values[i].constant.empty()) tensors[i] = scheduled_.values[i].constant;
  }
  for (const Stage& stage : scheduled_.stages) {
    for (const int id : stage.outputs) {
      tensors[static_cast<size_t>(id)] = Tensor(scheduled_.values[static_cast<size_t>(id)].type);
    }
  }
  StepRun run{std::vector<void*>(count), threads};
  for (size_t i = 0; i < count; ++i) {
    Tensor& storage = tensors[static_cast<size_t>(scheduled_.storage(static_cast<int>(i)))];
    run.values[i] = storage.empty() ? nullptr : storage.raw();
  }
  for (const auto& step : steps_) {
    // The reference finds the same index, and says where.
    if (!step->run(run)) return Evaluator(workload_).run(inputs, threads);
  }
  std::vector<Tensor> results;
  for (const int output : scheduled_.outputs) {
    const auto storage = static_cast<size_t>(scheduled_.storage(output));
    results.push_back(
        tensors[storage].reshaped(scheduled_.values[static_cast<size_t>(output)].type.shape));
  }
  return results;
}

std::string Kernel::loops_text() const {
  std::string text;
  for (const auto& step : steps_) text += step->text();
  return text;
}

}  // namespace aoe

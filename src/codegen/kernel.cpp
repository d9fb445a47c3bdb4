#include "codegen/kernel.h"

#include <algorithm>
#include <cassert>
#include <cstring>

#include "codegen/nest_step.h"
#include "codegen/product_step.h"
#include "codegen/step.h"
#include "policy/validate.h"

namespace aoe {

Workload with_weights_only(const Workload& workload, const std::vector<Tensor>& weights,
                           std::vector<Tensor>& inputs) {
  Workload only = workload;
  only.inputs.clear();
  for (size_t i = 0; i < workload.inputs.size(); ++i) {
    if (!workload.values[static_cast<size_t>(workload.inputs[i])].weight) continue;
    only.inputs.push_back(workload.inputs[i]);
    inputs.push_back(weights[i]);
  }
  return only;
}

Kernel::Plan Kernel::default_plan(const Workload& workload, const Device& device) {
  Plan plan{schedule_of(workload, {}), {}};
  const Structure structure = default_structure(plan.schedule, device);
  if (structure != Structure{}) plan.schedule = schedule_of(workload, structure);
  plan.policy = default_policy(plan.schedule, structure, device);
  return plan;
}

Kernel::Plan Kernel::valid_plan(const Workload& workload, const Policy& policy,
                                const Device& device) {
  if (const auto reason = fault_of(policy.structure, workload)) fail("policy: {}", *reason);
  Plan plan{schedule_of(workload, policy.structure), policy};
  if (const auto reason = fault_of(policy, plan.schedule, device)) fail("policy: {}", *reason);
  return plan;
}

Kernel::Kernel(std::shared_ptr<const Workload> workload, Plan plan, const Device& device,
               std::vector<Tensor> weights)
    : workload_(std::move(workload)),
      policy_(std::move(plan.policy)),
      device_(device),
      scheduled_(std::move(plan.schedule.workload)),
      weights_(std::move(weights)) {
  for (const size_t stage : plan.schedule.fixed) lay_out(stage);
  std::vector<Item>& items = plan.schedule.items;
  for (size_t i = 0; i < items.size(); ++i) {
    if (auto* nest = std::get_if<Nest>(&items[i])) {
      steps_.push_back(
          nest_step(decided(std::move(*nest), std::get<NestPolicy>(policy_.items[i])), device));
    } else {
      const size_t stage = std::get<ProductItem>(items[i]).stage;
      steps_.push_back(product_step(scheduled_, scheduled_.stages[stage],
                                    std::get<ProductPolicy>(policy_.items[i]), device, weights_));
    }
  }
}

Kernel::Kernel(std::shared_ptr<const Workload> workload, const Device& device,
               std::vector<Tensor> weights)
    : Kernel(workload, default_plan(*workload, device), device, std::move(weights)) {}

Kernel::Kernel(std::shared_ptr<const Workload> workload, const Policy& policy, const Device& device,
               std::vector<Tensor> weights)
    : Kernel(workload, valid_plan(*workload, policy, device), device, std::move(weights)) {}

Kernel::~Kernel() = default;

void Kernel::lay_out(size_t stage) {
  const int made = scheduled_.stages[stage].outputs[0];
  std::vector<Tensor> inputs;
  Workload only = with_weights_only(scheduled_, weights_, inputs);
  only.stages = {scheduled_.stages[stage]};
  only.outputs = {made};
  scheduled_.values[static_cast<size_t>(made)].constant =
      Kernel(std::make_shared<const Workload>(std::move(only)), device_).run(inputs, 1)[0];
}

std::vector<Tensor> Kernel::with_weights(std::vector<Tensor> inputs) const {
  for (size_t i = 0; i < inputs.size() && i < weights_.size(); ++i) {
    if (inputs[i].empty()) inputs[i] = weights_[i];
  }
  return inputs;
}

std::vector<Tensor> Kernel::values(const std::vector<Tensor>& inputs) const {
  std::vector<Tensor> values(scheduled_.values.size());
  for (size_t i = 0; i < inputs.size(); ++i) {
    const auto id = static_cast<size_t>(scheduled_.inputs[i]);
    values[id] = inputs[i];
    assert(values[id].type() == scheduled_.values[id].type);
  }
  for (size_t i = 0; i < values.size(); ++i) {
    if (!scheduled_.values[i].constant.empty()) values[i] = scheduled_.values[i].constant;
  }
  return values;
}

bool Kernel::run_steps(std::vector<Tensor>& values, int threads) const {
  for (const Stage& stage : scheduled_.stages) {
    for (const int id : stage.outputs) {
      Tensor& value = values[static_cast<size_t>(id)];
      if (value.empty()) value = Tensor(scheduled_.values[static_cast<size_t>(id)].type);
    }
  }
  if (policy_.threads > 0) threads = std::min(threads, policy_.threads);
  // Doubles reach far below where floats end, and are asked for where that matters.
  const bool doubles =
      std::any_of(scheduled_.values.begin(), scheduled_.values.end(),
                  [](const Workload::Value& v) { return v.type.dtype == DType::f64; });
  StepRun run{std::vector<void*>(values.size()), threads, !doubles};
  for (size_t i = 0; i < values.size(); ++i) {
    Tensor& storage = values[static_cast<size_t>(scheduled_.storage(static_cast<int>(i)))];
    run.values[i] = storage.empty() ? nullptr : storage.raw();
  }
  const bool done =
      std::all_of(steps_.begin(), steps_.end(), [&](const auto& step) { return step->run(run); });
  if (!done) ++fallbacks_;
  return done;
}

std::vector<Tensor> Kernel::run(const std::vector<Tensor>& inputs, int threads) const {
  const std::vector<Tensor> given = with_weights(inputs);
  std::vector<Tensor> all = values(given);
  // The reference finds the same index, and says where.
  if (!run_steps(all, threads)) return Evaluator(workload_).run(given, threads);
  std::vector<Tensor> results;
  for (const int output : scheduled_.outputs) {
    const auto storage = static_cast<size_t>(scheduled_.storage(output));
    results.push_back(
        all[storage].reshaped(scheduled_.values[static_cast<size_t>(output)].type.shape));
  }
  return results;
}

void Kernel::run_into(const std::vector<Tensor>& inputs, std::vector<Tensor>& outputs,
                      int threads) const {
  const std::vector<Tensor> given = with_weights(inputs);
  std::vector<Tensor> all = values(given);
  for (size_t i = 0; i < outputs.size(); ++i) {
    const int output = scheduled_.outputs[i];
    assert(outputs[i].type() == scheduled_.values[static_cast<size_t>(output)].type);
    const auto storage = static_cast<size_t>(scheduled_.storage(output));
    // One that is an input, a constant or an earlier output is copied at the end.
    if (all[storage].empty())
      all[storage] = outputs[i].reshaped(scheduled_.values[storage].type.shape);
  }
  const bool done = run_steps(all, threads);
  const std::vector<Tensor> results =
      done ? std::vector<Tensor>{} : Evaluator(workload_).run(given, threads);
  for (size_t i = 0; i < outputs.size(); ++i) {
    const auto storage = static_cast<size_t>(scheduled_.storage(scheduled_.outputs[i]));
    const Tensor& from = done ? all[storage] : results[i];
    if (from.raw() == outputs[i].raw() || from.bytes() == 0) continue;
    std::memcpy(outputs[i].raw(), from.raw(), static_cast<size_t>(from.bytes()));
  }
}

std::string Kernel::loops_text() const {
  std::string text;
  for (const auto& step : steps_) text += step->text();
  return text;
}

std::string Kernel::llvm_text() const {
  std::string text;
  for (const auto& step : steps_) {
    for (const Step::Part& part : step->parts()) text += aoe::llvm_text(device_, part.emit);
  }
  return text;
}

std::string Kernel::assembly_text() const {
  std::string text;
  for (const auto& step : steps_) {
    for (const Step::Part& part : step->parts()) text += aoe::assembly_text(device_, part.emit);
  }
  return text;
}

int Kernel::spills() const {
  int spills = 0;
  for (const auto& step : steps_) {
    for (const Step::Part& part : step->parts()) spills += part.code->spills();
  }
  return spills;
}

}  // namespace aoe

#include "codegen/kernel.h"

#include <algorithm>
#include <cassert>
#include <cstring>
#include <new>

#include "base/memory.h"
#include "codegen/nest_step.h"
#include "codegen/product_step.h"
#include "codegen/step.h"
#include "codegen/strassen_step.h"
#include "codegen/winograd_step.h"
#include "expr/rewrite.h"
#include "plan/arena.h"
#include "policy/validate.h"

namespace aoe {
namespace {

// Whether an index is looked up somewhere, so that it may turn out to be out of range.
bool looks_up(const Workload& workload) {
  const auto is_lookup = [](const Expr& e) {
    if (e->op != ExprOp::load) return false;
    const std::vector<Expr> index = index_of(e);
    return std::any_of(index.begin(), index.end(), [](const Expr& position) {
      return any_node(position, [](const Expr& n) { return n->op == ExprOp::load; });
    });
  };
  return std::any_of(workload.stages.begin(), workload.stages.end(), [&](const Stage& stage) {
    const auto any = [&](const std::vector<Expr>& exprs) {
      return std::any_of(exprs.begin(), exprs.end(),
                         [&](const Expr& expr) { return any_node(expr, is_lookup); });
    };
    return any(stage.elements) || any(stage.results);
  });
}

}  // namespace

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
      const auto& item = std::get<ProductItem>(items[i]);
      const Stage& stage = scheduled_.stages[item.stage];
      const auto& own = std::get<ProductPolicy>(policy_.items[i]);
      steps_.push_back(item.winograd != 0
                           ? winograd_step(scheduled_, stage, item.winograd, own, device, weights_)
                       : item.strassen ? strassen_step(scheduled_, stage, own, device, weights_)
                                       : product_step(scheduled_, stage, own, device, weights_));
    }
  }
  // Doubles reach far below where floats end, and are asked for where that matters.
  flush_denormals_ =
      std::none_of(scheduled_.values.begin(), scheduled_.values.end(),
                   [](const Workload::Value& v) { return v.type.dtype == DType::f64; });
  place_values();
  drop_unread();
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

void Kernel::place_values() {
  using In = Memory::In;
  memory_.resize(scheduled_.values.size());
  const auto memory = [&](int value) -> Memory& {
    return memory_[static_cast<size_t>(scheduled_.storage(value))];
  };
  for (size_t i = 0; i < memory_.size(); ++i) {
    if (!scheduled_.values[i].constant.empty()) memory_[i].in = In::constant;
  }
  for (size_t i = 0; i < scheduled_.inputs.size(); ++i) {
    memory(scheduled_.inputs[i]) = {In::input, static_cast<int64_t>(i)};
  }
  for (size_t i = 0; i < scheduled_.outputs.size(); ++i) {
    // One that is an input, a constant or an earlier output is copied at the end.
    if (memory(scheduled_.outputs[i]).in != In::nothing) continue;
    memory(scheduled_.outputs[i]) = {In::output, static_cast<int64_t>(i)};
  }
  std::vector<int> inside;  // values between steps
  std::vector<Lifetime> lifetimes;
  for (size_t s = 0; s < steps_.size(); ++s) {
    const int now = static_cast<int>(s);
    for (const int value : steps_[s]->values()) {
      if (memory_[static_cast<size_t>(value)].in != In::nothing) continue;
      const auto known = std::find(inside.begin(), inside.end(), value);
      if (known != inside.end()) {
        lifetimes[static_cast<size_t>(known - inside.begin())].last = now;
        continue;
      }
      const TensorType& type = scheduled_.values[static_cast<size_t>(value)].type;
      inside.push_back(value);
      lifetimes.push_back({checked_mul(type.count(), info(type.dtype).bytes), now, now});
    }
    step_bytes_ = std::max(step_bytes_, steps_[s]->work_bytes());
  }
  const Arena arena = arena_of(lifetimes);
  const int64_t list = aligned_work(static_cast<int64_t>(memory_.size() * sizeof(void*)));
  for (size_t i = 0; i < inside.size(); ++i) {
    memory_[static_cast<size_t>(inside[i])] = {In::work, list + arena.offsets[i]};
  }
  values_bytes_ = list + arena.bytes;
}

void Kernel::drop_unread() {
  // The reference, which finds an index that is out of range, reads all of them.
  if (looks_up(*workload_)) return;
  std::vector<bool> read(scheduled_.values.size());
  const auto note = [&](int value) { read[static_cast<size_t>(scheduled_.storage(value))] = true; };
  for (const int output : scheduled_.outputs) note(output);
  for (const auto& step : steps_) {
    for (const int value : step->values()) note(value);
  }
  for (size_t i = 0; i < read.size(); ++i) {
    if (!read[i]) scheduled_.values[i].constant = {};
  }
  for (size_t i = 0; i < weights_.size(); ++i) {
    if (!read[static_cast<size_t>(scheduled_.storage(scheduled_.inputs[i]))]) weights_[i] = {};
  }
}

const void* Kernel::memory_of(int value, std::span<const void* const> inputs,
                              std::span<void* const> outputs, std::byte* work) const {
  const auto [in, at] = memory_[static_cast<size_t>(scheduled_.storage(value))];
  const auto index = static_cast<size_t>(at);
  switch (in) {
    case Memory::In::nothing: return nullptr;
    case Memory::In::input:
      if (inputs[index] != nullptr || index >= weights_.size()) return inputs[index];
      return weights_[index].raw();
    case Memory::In::output: return outputs[index];
    case Memory::In::constant:
      return scheduled_.values[static_cast<size_t>(scheduled_.storage(value))].constant.raw();
    case Memory::In::work: return work + at;
  }
  return nullptr;
}

int64_t Kernel::work_bytes(int threads) const {
  return checked_add(values_bytes_, checked_mul(step_bytes_, threads));
}

bool Kernel::run_steps(std::span<const void* const> inputs, std::span<void* const> outputs,
                       std::byte* work, int threads) const {
  auto** const values = reinterpret_cast<void**>(work);
  for (size_t i = 0; i < memory_.size(); ++i) {
    // Steps write to outputs and to what is inside only.
    values[i] = const_cast<void*>(memory_of(static_cast<int>(i), inputs, outputs, work));
  }
  if (policy_.threads > 0) threads = std::min(threads, policy_.threads);
  const StepRun run{values, work + values_bytes_, threads, flush_denormals_};
  return std::all_of(steps_.begin(), steps_.end(),
                     [&](const auto& step) { return step->run(run); });
}

void Kernel::run_on(std::span<const void* const> inputs, std::span<void* const> outputs,
                    std::byte* work, int threads) const {
  if (!run_steps(inputs, outputs, work, threads)) return run_reference(inputs, outputs, threads);
  for (size_t i = 0; i < outputs.size(); ++i) {
    const void* const made = memory_of(scheduled_.outputs[i], inputs, outputs, work);
    if (made == outputs[i]) continue;
    const TensorType& type = scheduled_.values[static_cast<size_t>(scheduled_.outputs[i])].type;
    const int64_t bytes = type.count() * info(type.dtype).bytes;
    if (bytes > 0) std::memcpy(outputs[i], made, static_cast<size_t>(bytes));
  }
}

void Kernel::run_reference(std::span<const void* const> inputs, std::span<void* const> outputs,
                           int threads) const {
  ++fallbacks_;
  std::vector<Tensor> given;
  for (size_t i = 0; i < inputs.size(); ++i) {
    const TensorType& type = workload_->values[static_cast<size_t>(workload_->inputs[i])].type;
    if (inputs[i] == nullptr && i < weights_.size() && !weights_[i].empty()) {
      given.push_back(weights_[i]);
    } else {
      given.push_back(Tensor::over(type, inputs[i], nullptr));
    }
  }
  // It finds the same index, and says where.
  const std::vector<Tensor> results = Evaluator(workload_).run(given, threads);
  for (size_t i = 0; i < outputs.size(); ++i) {
    if (results[i].bytes() == 0) continue;
    std::memcpy(outputs[i], results[i].raw(), static_cast<size_t>(results[i].bytes()));
  }
}

std::vector<Tensor> Kernel::run(const std::vector<Tensor>& inputs, int threads) const {
  std::vector<Tensor> outputs;
  for (const int output : scheduled_.outputs) {
    outputs.emplace_back(scheduled_.values[static_cast<size_t>(output)].type);
  }
  run_into(inputs, outputs, threads);
  return outputs;
}

void Kernel::run_into(const std::vector<Tensor>& inputs, std::vector<Tensor>& outputs,
                      int threads) const {
  const auto type_of = [&](int value) -> const TensorType& {
    return scheduled_.values[static_cast<size_t>(value)].type;
  };
  std::vector<const void*> from;
  for (size_t i = 0; i < inputs.size(); ++i) {
    assert(inputs[i].empty() || inputs[i].type() == type_of(scheduled_.inputs[i]));
    from.push_back(inputs[i].raw());
  }
  std::vector<void*> to;
  for (size_t i = 0; i < outputs.size(); ++i) {
    assert(outputs[i].type() == type_of(scheduled_.outputs[i]));
    to.push_back(outputs[i].raw());
  }
  const auto work = allocate(static_cast<size_t>(work_bytes(threads)));
  if (!work) throw std::bad_alloc();
  run_on(from, to, static_cast<std::byte*>(work.get()), threads);
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

std::vector<std::shared_ptr<const Code>> Kernel::codes() const {
  std::vector<std::shared_ptr<const Code>> codes;
  for (const auto& step : steps_) {
    for (const Step::Part& part : step->parts()) codes.push_back(part.code);
  }
  return codes;
}

int Kernel::spills() const {
  int spills = 0;
  for (const auto& code : codes()) spills += code->spills();
  return spills;
}

}  // namespace aoe

#include "backend/kernel.h"

#include <algorithm>
#include <cassert>
#include <cstring>
#include <new>

#include "base/memory.h"
#include "device/machine_model.h"
#include "expr/rewrite.h"
#include "plan/arena.h"
#include "plan/copied_runs.h"
#include "policy/validate.h"

// The constructor makes a kernel in this order: schedule, Program, constants and packed weights
// (`evaluate_weights` runs a separate kernel on one thread for values that depend on weights
// alone), compilation, and the memory of each value (`place_values`). `run_on` runs it: it writes
// the address of every value to the beginning of the work memory and calls the compiled Program.
//
// The work memory:   | addresses of values | values between steps | memory of the threads |
//                    0                                            `values_bytes_`

namespace aoe {
namespace {

// Whether the workload has lookups, whose indexes may be out of range at run time.
bool looks_up(const Workload& workload) {
  bool found = false;
  for (const Stage& stage : workload.stages) {
    for_each_load(stage, [&](const Expr& load) { found = found || is_lookup(load); });
  }
  return found;
}

DecidedSchedule valid_schedule(const Workload& workload, const Policy& policy,
                               const Device& device) {
  if (const auto reason = fault_of(policy.structure, workload)) fail("policy: {}", *reason);
  DecidedSchedule made{schedule_of(workload, policy.structure), policy};
  if (const auto reason = fault_of(policy, made.schedule, device)) fail("policy: {}", *reason);
  return made;
}

}  // namespace

Kernel::Kernel(std::shared_ptr<const Workload> workload, DecidedSchedule decided,
               const Backend& backend, int threads, std::vector<Tensor> weights)
    : workload_(std::move(workload)),
      policy_(std::move(decided.policy)),
      weights_(std::move(weights)) {
  if (policy_.threads > 0) threads = std::min(threads, policy_.threads);
  Program program = build_program(decided.schedule, policy_, backend.device(), threads);
  scheduled_ = std::move(decided.schedule.workload);
  for (const size_t stage : decided.schedule.constant) {
    Workload only = scheduled_;
    only.stages = {scheduled_.stages[stage]};
    only.outputs = only.stages[0].outputs;
    auto& constant = scheduled_.values[static_cast<size_t>(only.outputs[0])].constant;
    constant = evaluate_weights(std::move(only), backend);
  }
  std::vector<Tensor> packed_weights;
  for (const PackedWeights& packed : program.weights) {
    packed_weights.push_back(
        pack(packed, evaluate_weights(plain_workload(scheduled_, packed), backend)));
  }
  compiled_ = backend.compile(std::move(program), std::move(packed_weights));
  // Kernels with doubles keep denormals: models use f64 where very small numbers matter.
  flush_denormals_ =
      std::none_of(scheduled_.values.begin(), scheduled_.values.end(),
                   [](const Workload::Value& v) { return v.type.dtype == DType::f64; });
  place_values();
  drop_unread();
  align_weights(backend.device());
}

Kernel::Kernel(const std::shared_ptr<const Workload>& workload, const Backend& backend, int threads,
               std::vector<Tensor> weights)
    : Kernel(workload, default_schedule(*workload, backend.device()), backend, threads,
             std::move(weights)) {}

Kernel::Kernel(const std::shared_ptr<const Workload>& workload, const Policy& policy,
               const Backend& backend, int threads, std::vector<Tensor> weights)
    : Kernel(workload, valid_schedule(*workload, policy, backend.device()), backend, threads,
             std::move(weights)) {}

Tensor Kernel::evaluate_weights(Workload of_weights, const Backend& backend) const {
  const auto contents = [&](int value) {
    const int storage = scheduled_.storage(value);
    const auto input = std::find(scheduled_.inputs.begin(), scheduled_.inputs.end(), storage);
    return input == scheduled_.inputs.end()
               ? scheduled_.values[static_cast<size_t>(storage)].constant
               : weights_[static_cast<size_t>(input - scheduled_.inputs.begin())];
  };
  std::vector<Tensor> inputs;
  std::erase_if(of_weights.inputs,
                [&](int input) { return !of_weights.values[static_cast<size_t>(input)].weight; });
  for (const int input : of_weights.inputs) inputs.push_back(contents(input));
  // A reshape of a weight shares its memory.
  const TensorType& type = of_weights.values[static_cast<size_t>(of_weights.outputs[0])].type;
  if (const auto runs = copied_runs(of_weights, 0); runs && runs->size() == 1) {
    const Tensor& whole = inputs[(*runs)[0].input];
    if ((*runs)[0].count == whole.count()) return whole.reshaped(type.shape);
  }
  const auto only = std::make_shared<const Workload>(std::move(of_weights));
  // On one thread: callers already make several kernels in parallel.
  return Kernel(only, backend, 1).run(inputs)[0];
}

void Kernel::place_values() {
  using Storage = Memory::Storage;
  memory_.resize(scheduled_.values.size());
  const auto memory = [&](int value) -> Memory& {
    return memory_[static_cast<size_t>(scheduled_.storage(value))];
  };
  for (size_t i = 0; i < memory_.size(); ++i) {
    if (!scheduled_.values[i].constant.empty()) memory_[i].storage = Storage::constant;
  }
  for (size_t i = 0; i < scheduled_.inputs.size(); ++i) {
    memory(scheduled_.inputs[i]) = {Storage::input, static_cast<int64_t>(i)};
  }
  for (size_t i = 0; i < scheduled_.outputs.size(); ++i) {
    // An output that is an input, a constant or an earlier output is copied at the end.
    if (memory(scheduled_.outputs[i]).storage != Storage::nothing) continue;
    memory(scheduled_.outputs[i]) = {Storage::output, static_cast<int64_t>(i)};
  }
  std::vector<int> inside;  // values between steps
  std::vector<Lifetime> lifetimes;
  for (size_t s = 0; s < program().body.size(); ++s) {
    const int now = static_cast<int>(s);
    for (const int value : program().values_of(program().body[s])) {
      if (memory_[static_cast<size_t>(value)].storage != Storage::nothing) continue;
      const auto known = std::find(inside.begin(), inside.end(), value);
      if (known != inside.end()) {
        lifetimes[static_cast<size_t>(known - inside.begin())].last = now;
        continue;
      }
      const TensorType& type = scheduled_.values[static_cast<size_t>(value)].type;
      inside.push_back(value);
      lifetimes.push_back({checked_mul(type.count(), info(type.dtype).bytes), now, now});
    }
  }
  const Arena arena = arena_of(lifetimes);
  const int64_t list = aligned_work(static_cast<int64_t>(memory_.size() * sizeof(void*)));
  for (size_t i = 0; i < inside.size(); ++i) {
    memory_[static_cast<size_t>(inside[i])] = {Storage::work, list + arena.offsets[i]};
  }
  values_bytes_ = list + arena.bytes;
}

void Kernel::drop_unread() {
  // The reference, which runs if a looked-up index is out of range, reads all of them.
  if (looks_up(*workload_)) return;
  std::vector<bool> read(scheduled_.values.size());
  const auto note = [&](int value) { read[static_cast<size_t>(scheduled_.storage(value))] = true; };
  for (const int output : scheduled_.outputs) note(output);
  for (const For& loop : program().body) {
    for (const int value : program().values_of(loop)) note(value);
  }
  for (size_t i = 0; i < read.size(); ++i) {
    if (!read[i]) scheduled_.values[i].constant = {};
  }
  for (size_t i = 0; i < weights_.size(); ++i) {
    if (!read[static_cast<size_t>(scheduled_.storage(scheduled_.inputs[i]))]) weights_[i] = {};
  }
}

void Kernel::align_weights(const Device& device) {
  constexpr uintptr_t kLine = 64;  // bytes of a cache line, and of the widest vectors
  for (Tensor& weights : weights_) {
    if (weights.empty() || weights.dtype() == DType::string) continue;
    if (reinterpret_cast<uintptr_t>(weights.raw()) % kLine == 0) continue;
    if (!machine::exceeds_caches(device, weights.bytes())) weights = weights.copied();
  }
}

const void* Kernel::memory_of(int value, std::span<const void* const> inputs,
                              std::span<void* const> outputs, std::byte* work) const {
  const auto [in, at] = memory_[static_cast<size_t>(scheduled_.storage(value))];
  const auto index = static_cast<size_t>(at);
  switch (in) {
    case Memory::Storage::nothing: return nullptr;
    case Memory::Storage::input:
      if (inputs[index] != nullptr || index >= weights_.size()) return inputs[index];
      return weights_[index].raw();
    case Memory::Storage::output: return outputs[index];
    case Memory::Storage::constant:
      return scheduled_.values[static_cast<size_t>(scheduled_.storage(value))].constant.raw();
    case Memory::Storage::work: return work + at;
  }
  return nullptr;
}

int64_t Kernel::work_bytes() const { return checked_add(values_bytes_, compiled_->work_bytes()); }

void Kernel::run_on(std::span<const void* const> inputs, std::span<void* const> outputs,
                    std::byte* work) const {
  auto** const values = reinterpret_cast<void**>(work);
  for (size_t i = 0; i < memory_.size(); ++i) {
    // The program writes only to outputs and to values in the work memory.
    values[i] = const_cast<void*>(memory_of(static_cast<int>(i), inputs, outputs, work));
  }
  if (!compiled_->run(values, work + values_bytes_, flush_denormals_)) {
    return run_reference(inputs, outputs);
  }
  for (size_t i = 0; i < outputs.size(); ++i) {
    const void* const made = memory_of(scheduled_.outputs[i], inputs, outputs, work);
    if (made == outputs[i]) continue;
    const TensorType& type = scheduled_.values[static_cast<size_t>(scheduled_.outputs[i])].type;
    const int64_t bytes = type.count() * info(type.dtype).bytes;
    if (bytes > 0) std::memcpy(outputs[i], made, static_cast<size_t>(bytes));
  }
}

void Kernel::run_reference(std::span<const void* const> inputs,
                           std::span<void* const> outputs) const {
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
  // Normally throws an Error that names the index and where it is loaded.
  const std::vector<Tensor> results = Evaluator(workload_).run(given, program().threads);
  for (size_t i = 0; i < outputs.size(); ++i) {
    if (results[i].bytes() == 0) continue;
    std::memcpy(outputs[i], results[i].raw(), static_cast<size_t>(results[i].bytes()));
  }
}

std::vector<Tensor> Kernel::run(const std::vector<Tensor>& inputs) const {
  std::vector<Tensor> outputs;
  for (const int output : scheduled_.outputs) {
    outputs.emplace_back(scheduled_.values[static_cast<size_t>(output)].type);
  }
  run_into(inputs, outputs);
  return outputs;
}

void Kernel::run_into(const std::vector<Tensor>& inputs, std::vector<Tensor>& outputs) const {
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
  const auto work = allocate(static_cast<size_t>(work_bytes()));
  if (!work) throw std::bad_alloc();
  run_on(from, to, static_cast<std::byte*>(work.get()));
}

int Kernel::spills() const {
  int spills = 0;
  for (const CompiledFunction& function : compiled_->functions()) spills += function.spills;
  return spills;
}

}  // namespace aoe

#include "runtime/executable.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cstring>

#include "base/parallel.h"
#include "runtime/graph_runner.h"

// On load, in the order of the constructor: the plan (plan/plan.cpp), a kernel or an evaluator for
// each of its steps (`compile_steps`, `prepare`), the arena (`lay_out_arena`). A run goes through
// `execute`, `run_step` and `run_kernel`; `elements_of` has the address of each value. Steps
// without static shapes (host kernels, control flow) go through `run_on_values`, which handles
// separate Values.
//
// Invariant: after construction nothing changes but the arena pool, the policies looked up and the
// executables of bodies, all of which lock. All other state of a run is in its `Run`.

namespace aoe {
namespace {

using Kind = PlanStep::Kind;
using Storage = BufferAssignment::Storage;

// Late nodes with more work (work_of) than this are compiled during the run, for its shapes only.
// With less work, the reference takes less time than the compiler.
constexpr int64_t kWorthCompilingLate = int64_t{1} << 24;

}  // namespace

Executable::~Executable() = default;

Executable::Executable(Graph graph, Engine engine)
    : graph_(std::move(graph)), engine_(std::move(engine)) {
  const auto cost = [&](const std::string& graph) {
    const auto times = engine_.policies ? engine_.policies->task_times(graph) : std::nullopt;
    return times ? measured_cost(engine_.backend->device(), *times) : TaskCost();
  };
  const auto device = engine_.backend ? std::optional(engine_.backend->device()) : std::nullopt;
  plan_ = plan_of(graph_, device, engine_.policies ? CostOfGraph(cost) : CostOfGraph());
  for (const PlanStep& planned : plan_.steps) {
    Step& step = steps_.emplace_back();
    step.node = &graph_.nodes[static_cast<size_t>(planned.last_node())];
    if (runs_task(planned)) continue;
    for (const Body& body : step.node->bodies) {
      step.bodies.push_back(std::make_unique<GraphRunner>(body.graph, engine_));
    }
  }
  for (const int id : graph_.inputs) {
    const GraphValue& input = graph_.value(id);
    if (input.type.kind != ValueType::Kind::tensor || !input.type.is_static()) continue;
    try {
      bytes_within_limit(input.type.tensor());
    } catch (const Error& error) {
      throw error.within(fmt::format("input '{}'", input.name));
    }
  }
  compile_steps();
  lay_out_arena();
}

// Compiles steps in parallel, since compiling takes most of the time of a load. Kernels pack
// weights or own them, so a constant that only kernels read is dropped when the last of these is
// made.
void Executable::compile_steps() {
  std::vector<std::atomic<int>> readers(graph_.values.size());
  for (const int id : graph_.outputs) ++readers[static_cast<size_t>(id)];
  for (const PlanStep& step : plan_.steps) {
    for (const int id : values_read(step, graph_)) {
      if (id >= 0) ++readers[static_cast<size_t>(id)];
    }
  }
  const auto compile_step = [&](size_t i) {
    if (plan_.steps[i].kind != Kind::workload) return;
    try {
      prepare(steps_[i], plan_.steps[i].task, false);
    } catch (const Error& error) {
      throw error.within(steps_[i].node->describe());
    }
    if (!steps_[i].kernel || engine_.keep_weights) return;
    for (const int id : plan_.steps[i].task.inputs) {
      if (--readers[static_cast<size_t>(id)] == 0) graph_.value(id).constant = {};
    }
  };
  if (engine_.policies) {
    std::vector<const Workload*> workloads;
    for (const PlanStep& step : plan_.steps) {
      if (step.kind == Kind::workload) workloads.push_back(&step.task.workload);
    }
    engine_.policies->look_up(workloads);
  }
  parallel_for(static_cast<int64_t>(steps_.size()), 1, engine_.threads,
               [&](int64_t first, int64_t last, int) {
                 for (int64_t i = first; i < last; ++i) compile_step(static_cast<size_t>(i));
               });
}

void Executable::prepare(Step& step, Task& task, bool late) const {
  Workload& workload = task.workload;
  for (const int output : workload.outputs) {
    bytes_within_limit(workload.values[static_cast<size_t>(output)].type);
  }
  const bool compiled = engine_.backend && (!late || work_of(workload) > kWorthCompilingLate);
  if (!compiled) {
    step.evaluator =
        std::make_shared<const Evaluator>(std::make_shared<const Workload>(std::move(workload)));
    return;
  }
  std::vector<Tensor> weights = weights_of(workload, task);
  auto whole = std::make_shared<const Workload>(std::move(workload));
  step.kernel = engine_.policies
                    ? engine_.policies->kernel(whole, *engine_.backend, std::move(weights))
                    : std::make_shared<const Kernel>(std::move(whole), *engine_.backend,
                                                     engine_.threads, std::move(weights));
}

std::vector<Tensor> Executable::weights_of(const Workload& workload, const Task& task) const {
  std::vector<Tensor> weights(task.inputs.size());
  for (size_t i = 0; i < weights.size(); ++i) {
    if (!workload.values[static_cast<size_t>(workload.inputs[i])].weight) continue;
    weights[i] = graph_.value(task.inputs[i]).constant;
  }
  return weights;
}

std::vector<KernelUse> Executable::kernel_uses() const {
  std::vector<KernelUse> uses;
  for (size_t i = 0; i < steps_.size(); ++i) {
    const auto& kernel = steps_[i].kernel;
    if (!kernel) continue;
    uses.push_back(
        {i, step_info(i).nodes, kernel, weights_of(kernel->workload(), plan_.steps[i].task)});
  }
  return uses;
}

std::vector<std::shared_ptr<const Kernel>> Executable::kernels() const {
  std::vector<std::shared_ptr<const Kernel>> kernels;
  for (const Step& step : steps_) {
    if (step.kernel) kernels.push_back(step.kernel);
  }
  return kernels;
}

// An arena begins with the addresses that are passed to the current kernel, of its inputs and
// outputs. Buffers of the plan and the work memory of kernels follow.
void Executable::lay_out_arena() {
  size_t most_pointers = 0;
  std::vector<Lifetime> lifetimes = plan_.buffers;
  for (size_t i = 0; i < steps_.size(); ++i) {
    const Task& task = plan_.steps[i].task;
    const int64_t work = steps_[i].kernel ? steps_[i].kernel->work_bytes() : 0;
    most_pointers = std::max(most_pointers, task.inputs.size() + task.outputs.size());
    lifetimes.push_back({work, static_cast<int>(i), static_cast<int>(i)});
  }
  const Arena arena = arena_of(lifetimes);
  const auto pointer_bytes = static_cast<int64_t>(most_pointers * sizeof(void*));
  const int64_t begin = ceil_div(pointer_bytes, kArenaAlignment) * kArenaAlignment;
  arena_bytes_ = checked_add(begin, arena.bytes);
  for (size_t i = 0; i < steps_.size(); ++i) {
    steps_[i].work = begin + arena.offsets[plan_.buffers.size() + i];
  }
  assignments_ = plan_.assignments;
  for (BufferAssignment& assignment : assignments_) {
    any_separate_ = any_separate_ || assignment.storage == Storage::separate;
    if (assignment.storage != Storage::arena) continue;
    assignment.offset += begin + arena.offsets[static_cast<size_t>(assignment.index)];
  }
  for (size_t i = 0; i < graph_.inputs.size(); ++i) {
    const auto id = static_cast<size_t>(graph_.inputs[i]);
    if (assignments_[id].storage == Storage::arena) bool_inputs_.push_back(static_cast<int>(i));
  }
}

const std::byte* Executable::elements_of(int value, const Run& run) const {
  const BufferAssignment& assignment = assignments_[static_cast<size_t>(value)];
  const auto index = static_cast<size_t>(assignment.index);
  const auto in_view = [&](const TensorView& view) {
    return static_cast<const std::byte*>(view.elements) + assignment.offset;
  };
  switch (assignment.storage) {
    case Storage::nothing: return nullptr;
    case Storage::constant: return graph_.value(value).constant.raw();
    case Storage::input: return in_view(run.inputs[index]);
    case Storage::output: return in_view(run.outputs[index]);
    case Storage::arena: return run.arena + assignment.offset;
    case Storage::separate: return run.separate[static_cast<size_t>(value)].tensor().raw();
  }
  return nullptr;
}

// For values that a step writes, which are never constants or in an input.
std::byte* Executable::elements_of(int value, Run& run) const {
  return const_cast<std::byte*>(elements_of(value, std::as_const(run)));
}

Value Executable::value_of(int value, const Run& run) const {
  if (value < 0) return {};
  const GraphValue& known = graph_.value(value);
  return known.is_constant() ? Value(known.constant) : run.separate[static_cast<size_t>(value)];
}

void Executable::parallel_memcpy(const std::byte* from, std::byte* to, int64_t bytes) const {
  constexpr int64_t kGrain = 256 << 10;
  parallel_for(bytes, kGrain, engine_.threads, [&](int64_t first, int64_t last, int) {
    std::memcpy(to + first, from + first, static_cast<size_t>(last - first));
  });
}

StepInfo Executable::step_info(size_t step) const {
  const PlanStep& planned = plan_.steps[step];
  StepInfo seen{step, {}};
  for (const int node : planned.nodes) {
    seen.nodes.push_back(&graph_.nodes[static_cast<size_t>(node)]);
  }
  if (steps_[step].kernel) seen.workload = &steps_[step].kernel->workload();
  if (steps_[step].evaluator) seen.workload = &steps_[step].evaluator->workload();
  seen.compiled = steps_[step].kernel != nullptr;
  seen.changes_layout = planned.changes_layout;
  if (seen.compiled) seen.numerics = numerics_of(steps_[step].kernel->policy().structure);
  return seen;
}

void Executable::execute(Run& run) const {
  const HelpersAwake helpers(engine_.threads);
  const ArenaPool::Lease arena = engine_.arenas->take(arena_bytes_, engine_.backend.get());
  run.arena = arena.memory();
  for (const int input : bool_inputs_) {
    const TensorView& given = run.inputs[static_cast<size_t>(input)];
    const auto* const from = static_cast<const uint8_t*>(given.elements);
    auto* const to =
        reinterpret_cast<uint8_t*>(elements_of(graph_.inputs[static_cast<size_t>(input)], run));
    const int64_t count = given.count();
    for (int64_t i = 0; i < count; ++i) to[i] = from[i] != 0 ? 1 : 0;
  }
  for (size_t i = 0; i < steps_.size(); ++i) {
    try {
      if (run.observer != nullptr) run.observer->step_begins();
      run_step(i, run);
      if (run.observer != nullptr) run.observer->step_ended(step_info(i));
    } catch (const Error& error) {
      throw error.within(steps_[i].node->describe());
    } catch (const std::bad_alloc&) {
      throw Error("out of memory").within(steps_[i].node->describe());
    }
    if (!any_separate_) continue;
    for (const int id : plan_.steps[i].last_uses) run.separate[static_cast<size_t>(id)] = {};
  }
  for (const int output : plan_.copied_outputs) {
    const TensorView& to = run.outputs[static_cast<size_t>(output)];
    const int id = graph_.outputs[static_cast<size_t>(output)];
    parallel_memcpy(elements_of(id, std::as_const(run)), static_cast<std::byte*>(to.elements),
                    to.count() * info(to.dtype).bytes);
  }
}

void Executable::run_step(size_t step, Run& run) const {
  const PlanStep& plan = plan_.steps[step];
  if (plan.kind == Kind::in_place) copy_leftovers(plan, run);
  else if (steps_[step].kernel) run_kernel(step, plan.task, run);
  else run_on_values(steps_[step], plan, run);
}

void Executable::run_kernel(size_t index, const Task& task, Run& run) const {
  const Step& step = steps_[index];
  const size_t inputs = task.inputs.size();
  auto** const from = reinterpret_cast<const void**>(run.arena);
  auto** const to = reinterpret_cast<void**>(run.arena) + inputs;
  for (size_t i = 0; i < inputs; ++i) from[i] = elements_of(task.inputs[i], std::as_const(run));
  for (size_t i = 0; i < task.outputs.size(); ++i) {
    const auto id = static_cast<size_t>(task.outputs[i]);
    if (assignments_[id].storage == Storage::separate) {
      const Workload& workload = step.kernel->workload();
      run.separate[id] = Tensor(workload.values[static_cast<size_t>(workload.outputs[i])].type);
    }
    to[i] = elements_of(task.outputs[i], run);
  }
  if (run.kernel_override != nullptr) {
    return run.kernel_override->run_kernel(index, {from, inputs}, {to, task.outputs.size()});
  }
  step.kernel->run_on({from, inputs}, {to, task.outputs.size()}, run.arena + step.work);
}

void Executable::copy_leftovers(const PlanStep& step, Run& run) const {
  for (const PlanStep::Copy& part : step.copies) {
    const auto to = static_cast<size_t>(part.to);
    if (assignments_[to].storage == Storage::separate) {
      // A reshape of a whole separate Value: both share its memory.
      const Tensor& whole = run.separate[static_cast<size_t>(part.from)].tensor();
      run.separate[to] = whole.reshaped(*graph_.value(part.to).type.shape);
    } else {
      parallel_memcpy(elements_of(part.from, std::as_const(run)) + part.from_offset,
                      elements_of(part.to, run) + part.to_offset, part.bytes);
    }
  }
}

// Runs a step whose inputs and outputs are separate Values; lowers it first if it is late.
void Executable::run_on_values(const Step& step, const PlanStep& plan, Run& run) const {
  const Node& node = *step.node;
  std::vector<Value> results;
  std::vector<int> made = node.outputs;
  const auto run_task = [&](const Step& runs, const Task& task) {
    std::vector<Tensor> tensors;
    for (const int id : task.inputs) tensors.push_back(value_of(id, run).tensor());
    for (Tensor& tensor :
         runs.kernel ? runs.kernel->run(tensors) : runs.evaluator->run(tensors, engine_.threads)) {
      results.emplace_back(std::move(tensor));
    }
    made = task.outputs;
  };
  if (plan.kind == Kind::workload) {
    run_task(step, plan.task);
  } else {
    std::vector<Value> inputs;
    for (const int id : node.inputs) inputs.push_back(value_of(id, run));
    HostKernel host = plan.host;
    if (plan.kind == Kind::late) {
      OpCall call = call_of(graph_, node);
      for (size_t i = 0; i < inputs.size(); ++i) {
        if (!call.inputs[i].present) continue;
        call.inputs[i].type = inputs[i].type();
        call.inputs[i].value = inputs[i];
      }
      Lowered lowered = lower(*node.def, call);
      require(lowered.complete, "the types of its inputs do not determine what it computes");
      host = std::move(lowered.host);
      if (lowered.workload) {
        Task task = task_of(std::move(lowered), node);
        Step late;
        prepare(late, task, true);
        run_task(late, task);
      }
    }
    if (host) results = run_host(step, host, std::move(inputs), run);
  }
  for (size_t i = 0; i < made.size() && i < results.size(); ++i) {
    if (made[i] >= 0) run.separate[static_cast<size_t>(made[i])] = std::move(results[i]);
  }
}

std::vector<Value> Executable::run_host(const Step& step, const HostKernel& kernel,
                                        std::vector<Value> inputs, const Run& run) const {
  const Node& node = *step.node;
  HostCall call{node.attributes, std::move(inputs), {}, {}};
  for (const int id : node.outputs) call.wanted.push_back(id >= 0);
  const auto body_named = [&](std::string_view attribute) {
    for (size_t i = 0; i < node.bodies.size(); ++i) {
      if (node.bodies[i].attribute == attribute) return i;
    }
    fail("attribute '{}' is missing", attribute);
  };
  call.run_body = [&](std::string_view attribute, std::vector<Value> values) {
    const size_t which = body_named(attribute);
    for (const int id : node.bodies[which].captured) values.push_back(value_of(id, run));
    return step.bodies[which]->run(values);
  };
  call.body_outputs = [&](std::string_view attribute, std::vector<ValueType> types) {
    const size_t which = body_named(attribute);
    for (const int id : node.bodies[which].captured) types.push_back(value_of(id, run).type());
    return step.bodies[which]->output_types(types);
  };
  return kernel(call);
}

namespace {

TensorView view_of(const Tensor& tensor) {
  return {tensor.dtype(), tensor.shape(), const_cast<std::byte*>(tensor.raw())};
}

bool is_aligned(const TensorView& view) {
  const auto width = static_cast<uintptr_t>(info(view.dtype).bytes);
  return reinterpret_cast<uintptr_t>(view.elements) % width == 0;
}

}  // namespace

std::vector<Value> Executable::run(const std::vector<Value>& inputs, StepObserver* observer,
                                   KernelOverride* kernel_override) const {
  std::vector<TensorView> from(inputs.size());
  std::vector<TensorView> to(graph_.outputs.size());
  std::vector<Value> results(graph_.outputs.size());
  Run run{from,     to,
          nullptr,  std::vector<Value>(any_separate_ ? graph_.values.size() : 0),
          observer, kernel_override};
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (inputs[i].is_tensor()) from[i] = view_of(inputs[i].tensor());
    if (any_separate_) run.separate[static_cast<size_t>(graph_.inputs[i])] = inputs[i];
  }
  const auto is_apart = [&](int id) {
    return assignments_[static_cast<size_t>(id)].storage == Storage::separate;
  };
  for (size_t i = 0; i < results.size(); ++i) {
    if (is_apart(graph_.outputs[i])) continue;
    results[i] = Tensor(graph_.value(graph_.outputs[i]).type.tensor());
    to[i] = view_of(results[i].tensor());
  }
  execute(run);
  for (size_t i = 0; i < results.size(); ++i) {
    const int id = graph_.outputs[i];
    if (is_apart(id)) results[i] = value_of(id, run);
  }
  return results;
}

void Executable::check_outputs(std::span<const TensorView> outputs) const {
  for (size_t i = 0; i < outputs.size(); ++i) {
    const ValueType& type = graph_.value(graph_.outputs[i]).type;
    const bool fits = !type.is_static() ||
                      (type.dtype != DType::string && outputs[i].is_of(*type.dtype, *type.shape));
    if (!fits) {
      fail("output '{}' is {}, memory is given for {}", graph_.output_names[i], to_string(type),
           to_string(outputs[i].type()));
    }
    require(outputs[i].elements != nullptr || outputs[i].type().count() == 0,
            "output '{}' is asked for without memory for it", graph_.output_names[i]);
  }
}

void Executable::run_into(std::span<const TensorView> inputs, std::span<const TensorView> outputs,
                          StepObserver* observer, KernelOverride* kernel_override) const {
  for (size_t i = 0; i < inputs.size(); ++i) {
    require(inputs[i].elements != nullptr || inputs[i].count() == 0,
            "input '{}' is given without its elements", graph_.value(graph_.inputs[i]).name);
  }
  check_outputs(outputs);
  // Kernels and host kernels need memory aligned to its elements: runs on copies otherwise.
  if (!std::all_of(inputs.begin(), inputs.end(), is_aligned) ||
      !std::all_of(outputs.begin(), outputs.end(), is_aligned)) {
    std::vector<Tensor> copies;
    std::vector<TensorView> from(inputs.begin(), inputs.end());
    std::vector<TensorView> to(outputs.begin(), outputs.end());
    copies.reserve(from.size() + to.size());
    for (TensorView& view : from) {
      copies.emplace_back(view.type());
      parallel_memcpy(static_cast<const std::byte*>(view.elements), copies.back().raw(),
                      copies.back().bytes());
      view = view_of(copies.back());
    }
    for (TensorView& view : to) view = view_of(copies.emplace_back(view.type()));
    run_into(from, to, observer, kernel_override);
    for (size_t i = 0; i < to.size(); ++i) {
      parallel_memcpy(static_cast<const std::byte*>(to[i].elements),
                      static_cast<std::byte*>(outputs[i].elements),
                      to[i].count() * info(to[i].dtype).bytes);
    }
    return;
  }
  Run run{inputs,   outputs,
          nullptr,  std::vector<Value>(any_separate_ ? graph_.values.size() : 0),
          observer, kernel_override};
  for (size_t i = 0; any_separate_ && i < inputs.size(); ++i) {
    run.separate[static_cast<size_t>(graph_.inputs[i])] =
        Tensor::over(inputs[i].type(), inputs[i].elements, nullptr);
  }
  execute(run);
  for (size_t i = 0; i < outputs.size(); ++i) {
    const int id = graph_.outputs[i];
    if (assignments_[static_cast<size_t>(id)].storage != Storage::separate) continue;
    const Value value = value_of(id, run);
    const ValueType type = value.type();
    require(type.is_static() && type.dtype != DType::string &&
                outputs[i].is_of(*type.dtype, *type.shape),
            "output '{}' is {}, memory is given for {}", graph_.output_names[i], to_string(type),
            to_string(outputs[i].type()));
    const Tensor& made = value.tensor();
    parallel_memcpy(made.raw(), static_cast<std::byte*>(outputs[i].elements), made.bytes());
  }
}

}  // namespace aoe

#pragma once

#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "backend/kernel.h"
#include "expr/evaluate.h"
#include "graph/graph.h"
#include "plan/plan.h"
#include "runtime/arena_pool.h"
#include "runtime/step_observer.h"
#include "runtime/stored_policies.h"

namespace aoe {

class GraphRunner;

// The resources that run the workloads of a graph.
struct Engine {
  int threads = 1;
  std::shared_ptr<const Backend> backend;  // compiles kernels; null: the reference evaluator
  std::shared_ptr<ArenaPool> arenas = std::make_shared<ArenaPool>();
  std::shared_ptr<const StoredPolicies> policies = {};  // null: default policies
  bool keep_weights = false;  // keep constants that only kernels read, to make more kernels
};

// A step that runs a kernel, with what is needed to make another kernel for it.
struct KernelUse {
  size_t step = 0;
  std::vector<const Node*> nodes;
  std::shared_ptr<const Kernel> kernel;
  std::vector<Tensor> weights;  // as Kernel takes them; dropped ones are empty
};

// An Executable is a simplified graph with every node ready to run. Immutable, so any number of
// threads may run it at once; each run has an arena to itself.
class Executable {
 public:
  Executable(Graph graph, Engine engine);
  ~Executable();
  Executable(const Executable&) = delete;  // steps point into the graph
  Executable& operator=(const Executable&) = delete;

  std::vector<Value> run(const std::vector<Value>& inputs, StepObserver* observer = nullptr,
                         KernelOverride* kernel_override = nullptr) const;
  // Runs on the caller's memory. Inputs must have the types that the executable was made for,
  // outputs those that the graph gives them.
  void run_into(std::span<const TensorView> inputs, std::span<const TensorView> outputs,
                StepObserver* observer = nullptr, KernelOverride* kernel_override = nullptr) const;

  // Constants that only kernels read are dropped from the graph, unless Engine::keep_weights.
  const Graph& graph() const { return graph_; }
  // The kernels of all steps that have one, in order. Late nodes get theirs during a run.
  std::vector<std::shared_ptr<const Kernel>> kernels() const;
  std::vector<KernelUse> kernel_uses() const;

 private:
  // What the plan step of the same index needs to run.
  struct Step {
    const Node* node = nullptr;
    std::shared_ptr<const Kernel> kernel;              // of a workload
    std::shared_ptr<const Evaluator> evaluator;        // or its reference
    std::vector<std::unique_ptr<GraphRunner>> bodies;  // in the order of Node::bodies
    int64_t work = 0;                                  // offset of the work memory in the arena
  };
  // The state of one run.
  struct Run {
    std::span<const TensorView> inputs;
    std::span<const TensorView> outputs;
    std::byte* arena = nullptr;
    std::vector<Value> separate;  // separate Values, by graph value; empty if the plan has none
    StepObserver* observer = nullptr;
    KernelOverride* kernel_override = nullptr;
  };

  void compile_steps();
  // Makes the kernel or the evaluator of a task.
  void prepare(Step& step, Task& task, bool late) const;
  std::vector<Tensor> weights_of(const Workload& workload, const Task& task) const;
  void lay_out_arena();

  void check_outputs(std::span<const TensorView> outputs) const;
  void execute(Run& run) const;
  StepInfo step_info(size_t step) const;
  void run_step(size_t step, Run& run) const;
  void run_kernel(size_t index, const Task& task, Run& run) const;
  void copy_leftovers(const PlanStep& step, Run& run) const;
  void run_on_values(const Step& step, const PlanStep& plan, Run& run) const;
  std::vector<Value> run_host(const Step& step, const HostKernel& kernel, std::vector<Value> inputs,
                              const Run& run) const;
  // The address of a graph value's elements. Null for a constant that was dropped.
  const std::byte* elements_of(int value, const Run& run) const;
  std::byte* elements_of(int value, Run& run) const;
  // A constant or a separate Value.
  Value value_of(int value, const Run& run) const;
  void parallel_memcpy(const std::byte* from, std::byte* to, int64_t bytes) const;

  Graph graph_;
  Engine engine_;
  Plan plan_;
  std::vector<Step> steps_;
  std::vector<BufferAssignment> assignments_;  // the plan's; arena offsets from the arena's start
  std::vector<int> bool_inputs_;  // inputs of bools: normalized copies of them are in the arena
  bool any_separate_ = false;     // whether any value is a separate Value
  int64_t arena_bytes_ = 0;
};

}  // namespace aoe

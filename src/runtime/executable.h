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
#include "runtime/stored_policies.h"
#include "runtime/watch.h"

namespace aoe {

class GraphRunner;

// What runs the workloads of a graph.
struct Engine {
  int threads = 1;
  std::shared_ptr<const Backend> backend;  // makes its kernels; null: the reference evaluator
  std::shared_ptr<ArenaPool> arenas = std::make_shared<ArenaPool>();
  std::shared_ptr<const StoredPolicies> policies = {};  // nothing: the default ones
  bool keep_weights = false;  // for further kernels, though those that are made have theirs
};

// A step that a kernel does, and what it takes to make another for it.
struct KernelUse {
  size_t step = 0;
  std::vector<const Node*> nodes;
  std::shared_ptr<const Kernel> kernel;
  std::vector<Tensor> weights;  // as Kernel takes them; empty ones unless the engine keeps them
};

// A simplified graph with every node ready to run. Immutable, so any number of threads may run it
// at once; each run has an arena to itself.
class Executable {
 public:
  Executable(Graph graph, Engine engine);
  ~Executable();
  Executable(const Executable&) = delete;  // steps point into the graph
  Executable& operator=(const Executable&) = delete;

  std::vector<Value> run(const std::vector<Value>& inputs, Watch* watch = nullptr,
                         KernelOverride* kernel_override = nullptr) const;
  // Inputs of the types that it was made for, in memory; outputs of the types that they have.
  void run_into(std::span<const TensorView> inputs, std::span<const TensorView> outputs,
                Watch* watch = nullptr, KernelOverride* kernel_override = nullptr) const;

  // Without the constants that only kernels read, which have them.
  const Graph& graph() const { return graph_; }
  // Of those nodes whose shapes are known before a run, in order.
  std::vector<std::shared_ptr<const Kernel>> kernels() const;
  std::vector<KernelUse> kernel_uses() const;

 private:
  // What the plan's step of the same number needs to run.
  struct Step {
    const Node* node = nullptr;
    std::shared_ptr<const Kernel> kernel;              // of a workload
    std::shared_ptr<const Evaluator> evaluator;        // or its reference
    std::vector<std::unique_ptr<GraphRunner>> bodies;  // as the node lists them
    int64_t work = 0;                                  // the kernel's memory in the arena
  };
  // What one run works on.
  struct Run {
    std::span<const TensorView> inputs;
    std::span<const TensorView> outputs;
    std::byte* arena = nullptr;
    std::vector<Value> apart;  // by value of the graph, if any are separate
    Watch* watch = nullptr;
    KernelOverride* kernel_override = nullptr;
  };

  void compile_steps();
  // Makes the kernel or the evaluator of a task.
  void prepare(Step& step, Task& task, bool late) const;
  std::vector<Tensor> weights_of(const Workload& workload, const Task& task) const;
  void lay_out_arena();

  void check_outputs(std::span<const TensorView> outputs) const;
  void execute(Run& run) const;
  StepInfo seen(size_t step) const;
  void run_step(size_t step, Run& run) const;
  void run_kernel(size_t index, const Task& task, Run& run) const;
  void copy_leftovers(const PlanStep& step, Run& run) const;
  void run_apart(const Step& step, const PlanStep& plan, Run& run) const;
  std::vector<Value> run_host(const Step& step, const HostKernel& kernel, std::vector<Value> inputs,
                              const Run& run) const;
  // Where the elements of a value of the graph are. Null for a constant that only kernels read.
  const std::byte* elements_of(int value, const Run& run) const;
  std::byte* elements_of(int value, Run& run) const;
  // A constant, or what is apart.
  Value value_of(int value, const Run& run) const;
  void parallel_memcpy(const std::byte* from, std::byte* to, int64_t bytes) const;

  Graph graph_;
  Engine engine_;
  Plan plan_;
  std::vector<Step> steps_;
  std::vector<BufferAssignment>
      assignments_;  // of the graph's values; offsets are counted from where arenas begin
  std::vector<int> bool_inputs_;  // inputs of bools, which are copied into the arena
  bool any_apart_ = false;
  int64_t arena_bytes_ = 0;
};

}  // namespace aoe

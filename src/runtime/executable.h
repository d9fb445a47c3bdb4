#pragma once

#include <list>
#include <memory>
#include <mutex>
#include <vector>

#include "codegen/kernel.h"
#include "expr/evaluate.h"
#include "graph/graph.h"
#include "plan/plan.h"
#include "runtime/watch.h"

namespace aoe {

class Executable;

// What runs the workloads of a graph.
struct Engine {
  int threads = 1;
  std::optional<Device> device;  // compiled kernels for it; nothing: the reference evaluator
};

// Runs one graph on inputs of any types: for each combination of them the graph is simplified and
// prepared once, and the last sixteen are kept. Any number of threads may call it.
class GraphRunner {
 public:
  GraphRunner(std::shared_ptr<const Graph> graph, Engine engine)
      : graph_(std::move(graph)), engine_(std::move(engine)) {}

  // `inputs` in the order of the graph's.
  std::vector<Value> run(const std::vector<Value>& inputs, Watch* watch = nullptr);

  // Prepares for inputs of these types, so that what is wrong with the graph shows before a run.
  std::shared_ptr<const Executable> prepare(const std::vector<ValueType>& types);

  // What is known of the outputs for inputs of these types; where nothing else is known of an
  // extent, 0.
  std::vector<ValueType> output_types(const std::vector<ValueType>& types);

 private:
  struct Entry {
    std::vector<ValueType> types;
    std::shared_ptr<const Executable> executable;
  };

  std::shared_ptr<const Graph> graph_;
  Engine engine_;
  std::mutex mutex_;
  std::list<Entry> recent_;  // the most recently used first
};

// A simplified graph with every node ready to run. Immutable.
class Executable {
 public:
  Executable(Graph graph, Engine engine);
  Executable(const Executable&) = delete;  // steps point into the graph
  Executable& operator=(const Executable&) = delete;

  std::vector<Value> run(const std::vector<Value>& inputs, Watch* watch = nullptr) const;
  // Inputs of the types that it was made for, in memory; outputs of the types that they have.
  void run_into(std::span<const TensorView> inputs, std::span<const TensorView> outputs,
                Watch* watch = nullptr) const;

  const Graph& graph() const { return graph_; }

 private:
  // What runs a node: its workload, compiled or evaluated, or a host kernel.
  struct Runner {
    Task task;
    std::shared_ptr<const Kernel> kernel;
    std::shared_ptr<const Evaluator> evaluator;
    HostKernel host;
  };
  struct Step {
    const Node* node = nullptr;  // whose outputs it makes
    std::vector<const Node*> nodes;
    bool changes_layout = false;
    bool late = false;  // shapes depend on values that only a run knows
    Runner runner;
    std::vector<std::unique_ptr<GraphRunner>> bodies;  // as the node lists them
    std::vector<int> last_uses;                        // values nobody needs after this step
  };

  // Makes the kernel or the evaluator of a task.
  void make_runner(Runner& runner, bool late) const;
  StepSeen seen(const Step& step, const Runner& runner) const;
  std::vector<Value> run_step(const Step& step, const std::vector<Value>& slots,
                              Watch* watch) const;
  std::vector<Value> run_host(const Step& step, const Runner& runner, std::vector<Value> inputs,
                              const std::vector<Value>& slots) const;

  Graph graph_;
  Engine engine_;
  std::vector<Step> steps_;
};

}  // namespace aoe

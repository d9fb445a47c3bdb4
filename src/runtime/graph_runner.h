#pragma once

#include <list>
#include <memory>
#include <mutex>
#include <vector>

#include "runtime/executable.h"

namespace aoe {

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

}  // namespace aoe

#pragma once

#include <list>
#include <memory>
#include <mutex>
#include <vector>

#include "runtime/executable.h"

namespace aoe {

// A GraphRunner runs one graph on inputs of any types. For each combination of types the graph is
// simplified and prepared once; the sixteen most recently used are kept. Any number of threads may
// call it.
class GraphRunner {
 public:
  GraphRunner(std::shared_ptr<const Graph> graph, Engine engine)
      : graph_(std::move(graph)), engine_(std::move(engine)) {}

  // `inputs` are in the order of the graph's.
  std::vector<Value> run(const std::vector<Value>& inputs, StepObserver* observer = nullptr);

  // Returns the executable for inputs of these types, prepared now if it is not kept. Throws Error
  // if the graph is invalid for them.
  std::shared_ptr<const Executable> prepare(const std::vector<ValueType>& types);

  // Returns the types of the outputs for inputs of these types, as far as they are known. Where
  // only the declared rank is known, unknown extents are 0.
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

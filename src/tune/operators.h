#pragma once

#include <string>
#include <vector>

#include "runtime/executable.h"

namespace aoe {

// A distinct workload of a model, named after its first use.
struct Operator {
  std::string name;                // of the nodes that it does, one after the other
  std::vector<std::string> types;  // of these nodes, each once, as the model names them
  const Workload* workload;        // the executable's
  std::string text;                // of the workload
  std::vector<size_t> steps;       // of the executable that run it
};

// In the order of first uses. What runs on the host, or is lowered only when it runs, is none.
std::vector<Operator> operators_of(const Executable& executable);

}  // namespace aoe

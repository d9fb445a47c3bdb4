#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/value.h"
#include "expr/workload.h"
#include "op/attribute.h"

namespace aoe {

class OpContext;

// An operator of a model format, defined once: `define` reads a call's types, attributes and known
// values from the context and states its outputs as tensor expressions or, if the operator is not a
// loop nest, as a host kernel. Shape rule, reference and generated code all follow from the
// definition.
struct OpDef {
  std::string_view name;
  int since;  // first opset with this operator
  void (*define)(OpContext&);
  std::string_view domain = "";
  bool pure = true;  // the same inputs always give the same outputs
};

// Returns the operator of that name, or null if there is none as of `opset`.
const OpDef* find_operator(std::string_view domain, std::string_view name, int opset);
// Fails if one of the names is no operator of any domain, and suggests a similar one. `option` is
// what gave the names.
void require_operators(std::span<const std::string> names, std::string_view option);
// Returns all operators, in unspecified order.
std::vector<const OpDef*> all_operators();

// One call of an operator, with the types and contents of its inputs as far as they are known.
struct OpCall {
  struct Input {
    bool present = false;
    ValueType type;
    std::optional<Value> value;  // contents, if known
  };

  int opset = 0;
  const Attributes* attributes = nullptr;
  std::vector<Input> inputs;
  std::vector<bool> wanted;         // for each output: is it used?
  std::vector<std::string> bodies;  // names of the attributes that hold subgraphs
};

// The arguments of a host kernel.
struct HostCall {
  const Attributes& attributes;
  std::vector<Value> inputs;
  std::vector<bool> wanted;
  // Runs the subgraph held in an attribute (control flow).
  std::function<std::vector<Value>(std::string_view attribute, const std::vector<Value>&)> run_body;
  // Infers the types of that subgraph's outputs, as far as known, from the types of its inputs.
  std::function<std::vector<ValueType>(std::string_view attribute, const std::vector<ValueType>&)>
      body_outputs = {};
};
using HostKernel = std::function<std::vector<Value>(const HostCall&)>;

// A lowered call: a workload or a host kernel, and the types of the outputs. If a required type,
// shape or value is not known yet, it is not `complete`, and the call must be lowered again at run
// time.
struct Lowered {
  bool complete = false;
  std::optional<Workload> workload;
  std::vector<int> operands;  // inputs of the call that the workload reads, in its order
  HostKernel host;
  std::vector<ValueType> outputs;
};

// Lowers a call. Fails if the call violates the operator's rules.
Lowered lower(const OpDef& def, const OpCall& call);

}  // namespace aoe

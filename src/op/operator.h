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
// values from the context and says what the outputs are, as tensor expressions or, where it is no
// loop nest, as a host kernel. The shape rule, the reference and the code all follow from that.
struct OpDef {
  std::string_view name;
  int since;  // first opset that has it
  void (*define)(OpContext&);
  std::string_view domain = "";
  bool pure = true;  // the same inputs always give the same outputs
};

// The operator of that name as of `opset`, or null.
const OpDef* find_operator(std::string_view domain, std::string_view name, int opset);
// All of them, in no particular order.
std::vector<const OpDef*> all_operators();

// What is known of one use of an operator, before or while it runs.
struct OpCall {
  struct Input {
    bool present = false;
    ValueType type;
    std::optional<Value> value;  // contents, when they are known
  };

  int opset = 0;
  const Attributes* attributes = nullptr;
  std::vector<Input> inputs;
  std::vector<bool> wanted;         // for each output: does anyone use it?
  std::vector<std::string> bodies;  // attributes that hold subgraphs
};

// What a host kernel gets.
struct HostCall {
  const Attributes& attributes;
  std::vector<Value> inputs;
  std::vector<bool> wanted;
  // Runs the subgraph held in an attribute (control flow).
  std::function<std::vector<Value>(std::string_view attribute, const std::vector<Value>&)> run_body;
  // What is known of that subgraph's outputs when its inputs have these types.
  std::function<std::vector<ValueType>(std::string_view attribute, const std::vector<ValueType>&)>
      body_outputs = {};
};
using HostKernel = std::function<std::vector<Value>(const HostCall&)>;

// What a call comes to: a workload or a host kernel, and the types of the outputs. Not `complete`
// when a needed shape or value is not known yet; then only run time can tell.
struct Lowered {
  bool complete = false;
  std::optional<Workload> workload;
  std::vector<int> operands;  // which inputs of the call the workload takes, in its order
  HostKernel host;
  std::vector<ValueType> outputs;
};

// Fails when the call breaks the operator's rules.
Lowered lower(const OpDef& def, const OpCall& call);

}  // namespace aoe

#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "frontend/onnx.pb.h"
#include "frontend/onnx_tensor.h"
#include "graph/graph.h"

namespace aoe {

using OpsetMap = std::map<std::string, int, std::less<>>;

// State that all graphs of one model share during its import.
struct OnnxModel {
  OpsetMap opsets;
  // By domain, name and overload.
  std::map<std::tuple<std::string, std::string, std::string>, const onnx::FunctionProto*> functions;
  OnnxTensorReader tensors;
  std::vector<const onnx::FunctionProto*> calls;  // being inlined, outermost first
  int64_t nodes = 0;                              // imported so far
  size_t copied_bytes = 0;                        // of inlined functions so far
};

// Imports one graph of a file (the model's or a body) as a Graph. Calls of functions are inlined.
class OnnxImporter {
 public:
  // `outer` is the importer of the graph around a body, or null.
  OnnxImporter(OnnxModel& model, OnnxImporter* outer) : model_(model), outer_(outer) {}

  Graph import(onnx::GraphProto& proto);

  // Values of the outer graph that this one uses, in the order of the inputs added for them.
  const std::vector<int>& captured() const { return captured_; }

 private:
  // Names and opsets inside the graph itself or inside one inlined call of a function.
  struct Scope {
    std::map<std::string, int, std::less<>> values;
    const OpsetMap* opsets = nullptr;
    // Attributes of the call, to which nodes of the function may refer; null outside functions.
    const std::map<std::string, onnx::AttributeProto*, std::less<>>* call = nullptr;
    bool is_function = false;
    std::string prefix;  // of names of nodes and values
  };

  template <typename TensorMessage>
  void import_initializer(TensorMessage& proto, const std::string& name, Scope& scope);
  void import_nodes(google::protobuf::RepeatedPtrField<onnx::NodeProto>& nodes, Scope& scope);
  void import_node(onnx::NodeProto& proto, Scope& scope);
  void import_call(const onnx::FunctionProto& function, onnx::NodeProto& call, Scope& scope);
  void import_operator(onnx::NodeProto& proto, const OpDef* def, int opset, Scope& scope);
  void import_attribute(onnx::AttributeProto& proto, Node& node, Scope& scope);
  onnx::AttributeProto* resolved(onnx::AttributeProto& proto, Scope& scope);

  int add_value(const std::string& name);
  int define(const std::string& name, Scope& scope);
  // The value of that name in this graph or an outer one; -1 for an omitted input. Fails if there
  // is none, where find returns -1.
  int use(const std::string& name, Scope& scope);
  int find(const std::string& name, Scope& scope);

  OnnxModel& model_;
  OnnxImporter* outer_;
  Scope* scope_ = nullptr;  // of the node whose body is being imported, for lookups from it
  Graph graph_;
  std::vector<int> captured_;
  std::map<int, int> captured_as_;  // from an outer value to the input added for it
};

// Indexes of the nodes in topological order. Fails on a cycle.
std::vector<int> execution_order(const google::protobuf::RepeatedPtrField<onnx::NodeProto>& nodes);

// "node 'conv1' (Conv)"
std::string describe(const onnx::NodeProto& node);

// Returns "" for "ai.onnx", the other name of the standard's domain.
std::string standard_domain(const std::string& domain);

// The version of an opset that a model imports; fails if it is not supported.
int checked_opset(const onnx::OperatorSetIdProto& entry);

// Returns `text`; fails if it is too long or not UTF-8. `what` is for the message: "a node".
const std::string& checked_name(const std::string& text, std::string_view what);
const std::string& checked_name(std::string&& text, std::string_view what) = delete;

void read_type(const onnx::TypeProto& proto, GraphValue& value);
ValueType read_value_type(const onnx::TypeProto& proto);

}  // namespace aoe

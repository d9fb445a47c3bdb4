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

// What all graphs of one model share while it is imported.
struct OnnxModel {
  OpsetMap opsets;
  // By domain, name and overload.
  std::map<std::tuple<std::string, std::string, std::string>, const onnx::FunctionProto*> functions;
  OnnxTensorReader tensors;
  std::vector<const onnx::FunctionProto*> calls;  // being replaced, the outermost first
  int64_t nodes = 0;                              // so far
  size_t copied_bytes = 0;                        // of functions, so far
};

// Turns one graph of the file into a Graph. Calls of functions are replaced by what is
// in them.
class OnnxImporter {
 public:
  // `outer` is the importer of the graph around a body, or null.
  OnnxImporter(OnnxModel& model, OnnxImporter* outer) : model_(model), outer_(outer) {}

  Graph import(onnx::GraphProto& proto);

  // Outer values that the graph uses, in the order of the inputs added for them.
  const std::vector<int>& captured() const { return captured_; }

 private:
  // What names mean inside the graph itself or inside one call of a function.
  struct Scope {
    std::map<std::string, int, std::less<>> values;
    const OpsetMap* opsets = nullptr;
    // Attributes of the call, which the function's nodes may refer to; null outside functions.
    const std::map<std::string, onnx::AttributeProto*, std::less<>>* call = nullptr;
    bool is_function = false;
    std::string prefix;  // of node names
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
  // The value of that name here or further out; fails if nobody produces it.
  int use(const std::string& name, Scope& scope);
  int find(const std::string& name, Scope& scope);

  OnnxModel& model_;
  OnnxImporter* outer_;
  Scope* scope_ = nullptr;  // of the node whose body is being imported, for lookups from inside
  Graph graph_;
  std::vector<int> captured_;
  std::map<int, int> captured_as_;  // outer value to the input that stands for it
};

// Indexes of the nodes in an order in which each comes after what it uses. Fails on a cycle.
std::vector<int> execution_order(const google::protobuf::RepeatedPtrField<onnx::NodeProto>& nodes);

// "node 'conv1' (Conv)"
std::string describe(const onnx::NodeProto& node);

// The domain of the ONNX standard has two names, of which the empty one is used here.
std::string standard_domain(const std::string& domain);

// The version that is asked for, if it is known.
int checked_opset(const onnx::OperatorSetIdProto& entry);

// Fails unless the text is UTF-8; `what` says whose name it is.
const std::string& checked_name(const std::string& text, std::string_view what);

void read_type(const onnx::TypeProto& proto, GraphValue& value);
ValueType read_value_type(const onnx::TypeProto& proto);

}  // namespace aoe

#pragma once

#include <span>

#include "frontend/onnx.h"
#include "frontend/onnx.pb.h"

namespace aoe {

// Writes small models for tests, a line a node.
class OnnxBuilder {
 public:
  explicit OnnxBuilder(int opset = 17) {
    auto* import = model.add_opset_import();
    import->set_version(opset);
    graph().set_name("test");
  }

  onnx::GraphProto& graph() { return *model.mutable_graph(); }

  static void set_type(onnx::ValueInfoProto& info, const std::vector<int64_t>& dims,
                       int dtype = 1) {
    auto* tensor = info.mutable_type()->mutable_tensor_type();
    tensor->set_elem_type(dtype);
    tensor->mutable_shape();
    for (const int64_t dim : dims) tensor->mutable_shape()->add_dim()->set_dim_value(dim);
  }
  void input(const std::string& name, const std::vector<int64_t>& dims, int dtype = 1) {
    auto* info = graph().add_input();
    info->set_name(name);
    set_type(*info, dims, dtype);
  }
  void symbolic_input(const std::string& name, const std::vector<std::string>& dims) {
    auto* info = graph().add_input();
    info->set_name(name);
    set_type(*info, {});
    auto* shape = info->mutable_type()->mutable_tensor_type()->mutable_shape();
    for (const std::string& dim : dims) shape->add_dim()->set_dim_param(dim);
  }
  void output(const std::string& name) { graph().add_output()->set_name(name); }

  void floats(const std::string& name, const std::vector<int64_t>& dims,
              const std::vector<float>& values) {
    auto* tensor = graph().add_initializer();
    tensor->set_name(name);
    tensor->set_data_type(1);
    for (const int64_t dim : dims) tensor->add_dims(dim);
    for (const float value : values) tensor->add_float_data(value);
  }
  void ints(const std::string& name, const std::vector<int64_t>& values) {
    auto* tensor = graph().add_initializer();
    tensor->set_name(name);
    tensor->set_data_type(7);
    tensor->add_dims(static_cast<int64_t>(values.size()));
    for (const int64_t value : values) tensor->add_int64_data(value);
  }

  static onnx::NodeProto& add_node(onnx::NodeProto& node, const std::string& type,
                                   const std::vector<std::string>& inputs,
                                   const std::vector<std::string>& outputs) {
    node.set_op_type(type);
    node.set_name(type + "_" + (outputs.empty() ? "" : outputs[0]));
    for (const std::string& name : inputs) node.add_input(name);
    for (const std::string& name : outputs) node.add_output(name);
    return node;
  }
  onnx::NodeProto& node(const std::string& type, const std::vector<std::string>& inputs,
                        const std::vector<std::string>& outputs) {
    return add_node(*graph().add_node(), type, inputs, outputs);
  }
  static void set_ints(onnx::NodeProto& node, const std::string& name,
                       const std::vector<int64_t>& values) {
    auto* attribute = node.add_attribute();
    attribute->set_name(name);
    attribute->set_type(7);
    for (const int64_t value : values) attribute->add_ints(value);
  }

  std::string bytes() const { return model.SerializeAsString(); }
  Graph parse() const {
    const std::string serialized = bytes();
    return parse_onnx(std::as_bytes(std::span(serialized)));
  }

  onnx::ModelProto model;
};

}  // namespace aoe

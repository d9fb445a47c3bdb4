#include "frontend/om_reader.h"

#include <algorithm>
#include <set>

#include "base/utf8.h"
#include "frontend/om_format.h"
#include "frontend/onnx.h"

namespace aoe {
namespace {

std::string checked_text(const std::string& text, std::string_view whose) {
  require(is_utf8(text), "the name of {} is not UTF-8", whose);
  return text;
}

DType read_dtype(const std::string& name) {
  const auto dtype = dtype_named(name);
  require(dtype.has_value(), "'{}' is not an element type", name);
  return *dtype;
}

ValueType read_type(const om::ValueType& proto) {
  ValueType type;
  require(om::ValueType::Kind_IsValid(proto.kind()), "{} is not a kind of value",
          static_cast<int>(proto.kind()));
  type.kind = static_cast<ValueType::Kind>(proto.kind());
  if (!proto.dtype().empty()) type.dtype = read_dtype(proto.dtype());
  if (!proto.has_shape()) return type;
  require(type.kind == ValueType::Kind::tensor, "{} has a shape", to_string(type));
  type.shape.emplace(proto.shape().extents().begin(), proto.shape().extents().end());
  element_count(*type.shape);
  return type;
}

std::vector<Dim> read_dims(const om::Dims& proto) {
  std::vector<Dim> dims;
  for (const om::Dim& dim : proto.dims()) {
    require(dim.size() >= -1, "dimension {} is negative", dim.size());
    dims.push_back({dim.size(), checked_text(dim.symbol(), "a dimension")});
  }
  return dims;
}

// Reads numbers of values; -1 is allowed, and means none, if `optional`.
template <typename Field>
std::vector<int> read_ids(const Field& field, const Graph& graph, bool optional) {
  const auto count = static_cast<int>(graph.values.size());
  std::vector<int> ids(field.begin(), field.end());
  for (const int id : ids) {
    require(id >= (optional ? -1 : 0) && id < count, "it names value {} of {}", id, count);
  }
  return ids;
}

// Callers pass inputs and receive outputs by name, so names must be unique.
void require_distinct(const std::vector<std::string>& names, std::string_view what) {
  std::set<std::string_view> seen;
  for (const std::string& name : names) {
    require(!name.empty(), "an {} has no name", what);
    require(seen.insert(name).second, "{} '{}' is listed twice", what, name);
  }
}

}  // namespace

Graph OmReader::read_model(const om::Graph& proto) const {
  Graph graph = read_graph(proto, 0);
  require(!graph.outputs.empty(), "it has no outputs");
  std::vector<std::string> inputs;
  for (const int id : graph.inputs) inputs.push_back(graph.value(id).name);
  require_distinct(inputs, "input");
  require_distinct(graph.output_names, "output");
  return graph;
}

Graph OmReader::read_graph(const om::Graph& proto, int depth) const {
  require(depth <= kMostOmNesting, "subgraphs are more than {} deep", kMostOmNesting);
  Graph graph;
  graph.name = checked_text(proto.name(), "a graph");
  read_values(proto, graph);
  read_inputs(proto, graph);
  for (const om::Node& node : proto.nodes()) graph.nodes.push_back(read_node(node, graph, depth));
  for (const om::Output& output : proto.outputs()) {
    graph.outputs.push_back(output.value());
    graph.output_names.push_back(checked_text(output.name(), "an output"));
  }
  read_ids(graph.outputs, graph, false);
  verify(graph);
  return graph;
}

void OmReader::read_values(const om::Graph& proto, Graph& graph) const {
  for (const om::Value& from : proto.values()) {
    GraphValue& value = graph.values.emplace_back();
    value.name = checked_text(from.name(), "a value");
    try {
      if (from.has_constant()) {
        value.constant = read_tensor(from.constant());
        value.type = value.constant.type();
      }
      if (from.has_declared()) value.declared = read_type(from.declared());
      if (from.has_dims()) value.dims = read_dims(from.dims());
    } catch (const Error& error) {
      throw error.within(fmt::format("value '{}'", value.name));
    }
  }
}

// Only inputs have stored types. Types of results are inferred, so that a file cannot claim wrong
// ones.
void OmReader::read_inputs(const om::Graph& proto, Graph& graph) const {
  graph.inputs = read_ids(proto.inputs(), graph, false);
  std::set<int> seen;
  for (const int id : graph.inputs) {
    GraphValue& value = graph.value(id);
    require(seen.insert(id).second && !value.is_constant(),
            "input '{}' is listed twice or constant", value.name);
    try {
      value.type = read_type(proto.values(id).type());
      require(!value.dims || value.type.kind == ValueType::Kind::tensor, "{} has dimensions",
              to_string(value.type));
      require(!value.type.shape, "it has a shape beside its dimensions");
      set_shape_if_fixed(value);
    } catch (const Error& error) {
      throw error.within(fmt::format("input '{}'", value.name));
    }
  }
}

Node OmReader::read_node(const om::Node& proto, const Graph& graph, int depth) const {
  Node node;
  node.name = checked_text(proto.name(), "a node");
  if (proto.high_precision()) node.numerics = Numerics::direct;
  try {
    node.opset = proto.opset();
    require(node.opset >= 1 && (!proto.domain().empty() || node.opset <= kNewestOnnxOpset),
            "it is of opset {}; 1 to {} are known", node.opset, kNewestOnnxOpset);
    node.def = find_operator(proto.domain(), proto.op(), node.opset);
    require(node.def != nullptr, "operator '{}' of domain '{}' is not known in opset {}",
            proto.op(), proto.domain(), node.opset);
    node.inputs = read_ids(proto.inputs(), graph, true);
    node.outputs = read_ids(proto.outputs(), graph, true);
    for (const om::Attribute& attribute : proto.attributes()) {
      const std::string name = checked_text(attribute.name(), "an attribute");
      require(node.attributes.emplace(name, read_attribute(attribute)).second,
              "attribute '{}' is defined twice", name);
    }
    for (const om::Body& body : proto.bodies()) {
      node.bodies.push_back(read_body(body, graph, depth));
    }
  } catch (const Error& error) {
    throw error.within(fmt::format("node '{}'", node.name));
  }
  return node;
}

Body OmReader::read_body(const om::Body& proto, const Graph& graph, int depth) const {
  Body body;
  body.attribute = checked_text(proto.attribute(), "an attribute");
  body.graph = std::make_shared<const Graph>(read_graph(proto.graph(), depth + 1));
  body.captured = read_ids(proto.captured(), graph, false);
  require(body.captured.size() <= body.graph->inputs.size(),
          "subgraph '{}' has {} inputs and captures {} values", body.attribute,
          body.graph->inputs.size(), body.captured.size());
  return body;
}

Attribute OmReader::read_attribute(const om::Attribute& proto) const {
  switch (proto.value_case()) {
    case om::Attribute::kInteger: return proto.integer();
    case om::Attribute::kReal: return proto.real();
    case om::Attribute::kText: return proto.text();
    case om::Attribute::kTensor: return read_tensor(proto.tensor());
    case om::Attribute::kType: return read_type(proto.type());
    case om::Attribute::kIntegers: {
      const auto& elements = proto.integers().elements();
      return std::vector<int64_t>(elements.begin(), elements.end());
    }
    case om::Attribute::kReals: {
      const auto& elements = proto.reals().elements();
      return std::vector<float>(elements.begin(), elements.end());
    }
    case om::Attribute::kTexts: {
      const auto& elements = proto.texts().elements();
      return std::vector<std::string>(elements.begin(), elements.end());
    }
    case om::Attribute::kTensors: {
      std::vector<Tensor> tensors;
      for (const om::Tensor& tensor : proto.tensors().elements()) {
        tensors.push_back(read_tensor(tensor));
      }
      return tensors;
    }
    case om::Attribute::VALUE_NOT_SET: break;
  }
  fail("attribute '{}' has no value", proto.name());
}

Tensor OmReader::read_tensor(const om::Tensor& proto) const {
  const TensorType type{read_dtype(proto.dtype()),
                        Shape(proto.shape().begin(), proto.shape().end())};
  const int64_t count = type.count();
  if (type.dtype == DType::string) {
    const auto& texts = proto.strings().elements();
    require(texts.size() == count, "{} needs {} strings, {} are there", to_string(type), count,
            texts.size());
    return Tensor::strings(type.shape, {texts.begin(), texts.end()});
  }
  require(proto.has_weight() && proto.weight() < weights_.size(), "{} has weight {} of {}",
          to_string(type), proto.has_weight() ? std::to_string(proto.weight()) : "none",
          weights_.size());
  const Bytes& weight = weights_[proto.weight()];
  const int64_t bytes = checked_mul(count, info(type.dtype).bytes);
  require(bytes <= tensor_limit(), "{} is larger than one tensor may be", to_string(type));
  require(bytes == static_cast<int64_t>(weight.bytes.size()), "{} needs {} bytes, weight {} has {}",
          to_string(type), bytes, proto.weight(), weight.bytes.size());
  return Tensor::over(type, weight.bytes.data(), weight.owner);
}

}  // namespace aoe

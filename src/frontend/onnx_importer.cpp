#include "frontend/onnx_importer.h"

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>

#include "base/error.h"
#include "frontend/onnx.h"

// From a model file to a Graph. load_onnx and parse_onnx, at the end, parse the protobuf; an
// OnnxImporter then imports one graph: its values, its nodes with their attributes and bodies, and
// the calls of functions, which are inlined. Nodes point to the definitions of their operators,
// which run later (graph/simplify.cpp).

namespace aoe {
namespace {

// Limits of inlining: functions that call functions can expand exponentially.
constexpr int64_t kMaxNodes = 200'000;
constexpr size_t kMaxCopiedBytes = size_t{1} << 30;
// Inlining recurses.
constexpr size_t kMaxCallDepth = 100;
// Names of nested calls are prefixes of names; from this length on no more are added.
constexpr size_t kMaxPrefix = 1000;

// AttributeProto.AttributeType
enum AttributeType {
  kNone = 0,
  kFloat = 1,
  kInt = 2,
  kString = 3,
  kTensor = 4,
  kGraph = 5,
  kFloats = 6,
  kInts = 7,
  kStrings = 8,
  kTensors = 9,
  kSparseTensor = 11,
  kType = 13,
};

// Files of the first IR versions do not state the type.
int type_of(const onnx::AttributeProto& proto) {
  if (proto.type() != kNone) return proto.type();
  if (proto.has_t()) return kTensor;
  if (proto.has_g()) return kGraph;
  if (proto.has_tp()) return kType;
  if (proto.floats_size() > 0) return kFloats;
  if (proto.ints_size() > 0) return kInts;
  if (proto.strings_size() > 0) return kStrings;
  if (!proto.s().empty()) return kString;
  return proto.f() != 0 ? kFloat : kInt;
}

std::string known_alternatives(std::string_view domain, std::string_view type) {
  for (const OpDef* def : all_operators()) {
    if (def->name == type && def->domain != domain) {
      return fmt::format("; there is one in domain '{}'", def->domain);
    }
    if (def->name == type) return fmt::format("; it exists from opset {} on", def->since);
  }
  return "";
}

}  // namespace

int OnnxImporter::add_value(const std::string& name) {
  graph_.values.push_back(
      {.name = checked_name(name, "a value"), .type = {}, .constant = {}, .dims = std::nullopt});
  return static_cast<int>(graph_.values.size()) - 1;
}

int OnnxImporter::define(const std::string& name, Scope& scope) {
  const int id = add_value(scope.prefix + name);
  require(scope.values.emplace(name, id).second, "'{}' is produced twice", name);
  return id;
}

int OnnxImporter::find(const std::string& name, Scope& scope) {
  const auto known = scope.values.find(name);
  if (known != scope.values.end()) return known->second;
  // A function sees only its inputs; a body also sees the values of outer graphs.
  if (scope.is_function || outer_ == nullptr) return -1;
  const int outside = outer_->find(name, *outer_->scope_);
  if (outside < 0) return -1;
  const auto captured = captured_as_.find(outside);
  if (captured != captured_as_.end()) return captured->second;
  const int id = add_value(name);
  graph_.values[static_cast<size_t>(id)].type = outer_->graph_.value(outside).type;
  captured_as_[outside] = id;
  captured_.push_back(outside);
  return id;
}

int OnnxImporter::use(const std::string& name, Scope& scope) {
  if (name.empty()) return -1;
  const auto left_out = scope.values.find(name);
  if (left_out != scope.values.end() && left_out->second < 0) return -1;
  const int id = find(name, scope);
  require(id >= 0, "'{}' is used, but nothing produces it", checked_name(name, "a value"));
  return id;
}

Graph OnnxImporter::import(onnx::GraphProto& proto) {
  graph_.name = checked_name(proto.name(), "the graph");
  Scope scope;
  scope.opsets = &model_.opsets;
  if (outer_ != nullptr) {
    scope.opsets = outer_->scope_->opsets;
    scope.call = outer_->scope_->call;
  }
  for (auto& tensor : *proto.mutable_initializer()) {
    import_initializer(tensor, tensor.name(), scope);
  }
  for (auto& tensor : *proto.mutable_sparse_initializer()) {
    import_initializer(tensor, tensor.values().name(), scope);
  }
  for (const auto& input : proto.input()) {
    checked_name(input.name(), "an input");
    require(!input.name().empty(), "an input has no name");
    const auto known = scope.values.find(input.name());
    // An initializer that is also listed as an input is a constant.
    if (known != scope.values.end() && graph_.value(known->second).is_constant()) continue;
    const int id = define(input.name(), scope);
    try {
      read_type(input.type(), graph_.value(id));
    } catch (const Error& error) {
      throw error.within(fmt::format("input '{}'", input.name()));
    }
    graph_.inputs.push_back(id);
  }
  import_nodes(*proto.mutable_node(), scope);
  for (const auto& output : proto.output()) {
    require(!checked_name(output.name(), "an output").empty(), "an output has no name");
    const int id = find(output.name(), scope);
    require(id >= 0, "output '{}' is produced by nothing", output.name());
    graph_.outputs.push_back(id);
    auto& names = graph_.output_names;
    require(std::find(names.begin(), names.end(), output.name()) == names.end(),
            "output '{}' is listed twice", output.name());
    names.push_back(output.name());
    if (graph_.value(id).dims || !output.has_type()) continue;
    GraphValue declared;
    read_type(output.type(), declared);
    graph_.value(id).dims = declared.dims;
    graph_.value(id).declared = declared.type;
  }
  for (const int outside : captured_) graph_.inputs.push_back(captured_as_.at(outside));
  verify(graph_);
  return std::move(graph_);
}

template <typename TensorMessage>
void OnnxImporter::import_initializer(TensorMessage& proto, const std::string& name, Scope& scope) {
  const int id = define(checked_name(name, "an initializer"), scope);
  try {
    graph_.value(id).constant = model_.tensors.read(proto);
    graph_.value(id).type = graph_.value(id).constant.type();
  } catch (const Error& error) {
    throw error.within(fmt::format("initializer '{}'", graph_.value(id).name));
  }
}

void OnnxImporter::import_nodes(google::protobuf::RepeatedPtrField<onnx::NodeProto>& nodes,
                                Scope& scope) {
  for (const auto& node : nodes) {
    for (const std::string& output : node.output()) {
      require(output.empty() || !scope.values.contains(output),
              "{} produces '{}', which is an input or initializer already", describe(node), output);
    }
  }
  for (const int i : execution_order(nodes)) {
    try {
      import_node(nodes[i], scope);
    } catch (const Error& error) {
      throw error.within(describe(nodes[i]));
    }
  }
}

void OnnxImporter::import_node(onnx::NodeProto& proto, Scope& scope) {
  require(++model_.nodes <= kMaxNodes, "the model has more than {} nodes", kMaxNodes);
  const std::string domain = standard_domain(checked_name(proto.domain(), "a domain"));
  const std::string& type = checked_name(proto.op_type(), "an operator");
  const auto function = model_.functions.find({domain, type, proto.overload()});
  if (function != model_.functions.end()) return import_call(*function->second, proto, scope);
  const auto opset = scope.opsets->find(domain);
  require(opset != scope.opsets->end(), "the model does not say which opset of domain '{}' it uses",
          domain.empty() ? "ai.onnx" : domain);
  const OpDef* def = find_operator(domain, type, opset->second);
  require(def != nullptr, "operator {}{}{} is not known in opset {}{}", domain,
          domain.empty() ? "" : ".", type, opset->second, known_alternatives(domain, type));
  import_operator(proto, def, opset->second, scope);
}

void OnnxImporter::import_call(const onnx::FunctionProto& function, onnx::NodeProto& call,
                               Scope& scope) {
  auto& calls = model_.calls;
  require(calls.size() < kMaxCallDepth, "functions call each other more than {} deep",
          kMaxCallDepth);
  model_.copied_bytes += function.ByteSizeLong();
  require(model_.copied_bytes <= kMaxCopiedBytes, "its functions expand to too large a model");
  require(std::find(calls.begin(), calls.end(), &function) == calls.end(),
          "function {} calls itself", function.name());
  require(
      call.input_size() <= function.input_size() && call.output_size() <= function.output_size(),
      "function {} takes {} inputs and gives {} outputs, not {} and {}", function.name(),
      function.input_size(), function.output_size(), call.input_size(), call.output_size());
  OpsetMap opsets;
  for (const auto& entry : function.opset_import()) {
    opsets[standard_domain(entry.domain())] = checked_opset(entry);
  }
  std::map<std::string, onnx::AttributeProto*, std::less<>> attributes;
  std::vector<onnx::AttributeProto> defaults(function.attribute_proto().begin(),
                                             function.attribute_proto().end());
  for (auto& attribute : defaults) attributes[attribute.name()] = &attribute;
  for (auto& attribute : *call.mutable_attribute()) {
    if (onnx::AttributeProto* found = resolved(attribute, scope))
      attributes[attribute.name()] = found;
  }
  Scope inside;
  inside.opsets = &opsets;
  inside.call = &attributes;
  inside.is_function = true;
  inside.prefix = scope.prefix;
  if (inside.prefix.size() < kMaxPrefix) {
    inside.prefix += (call.name().empty() ? function.name() : call.name()) + "/";
  }
  for (int i = 0; i < function.input_size(); ++i) {
    const int id = i < call.input_size() ? use(call.input(i), scope) : -1;
    // The name of an omitted input is mapped to -1.
    inside.values[function.input(i)] = id;
  }
  // A copy: importing moves contents out of the messages, and a function may be called again.
  onnx::FunctionProto copy = function;
  calls.push_back(&function);
  import_nodes(*copy.mutable_node(), inside);
  calls.pop_back();
  for (int i = 0; i < call.output_size(); ++i) {
    if (call.output(i).empty()) continue;
    const int id = use(function.output(i), inside);
    require(scope.values.emplace(call.output(i), id).second, "'{}' is produced twice",
            call.output(i));
  }
}

onnx::AttributeProto* OnnxImporter::resolved(onnx::AttributeProto& proto, Scope& scope) {
  if (proto.ref_attr_name().empty()) return &proto;
  require(scope.call != nullptr, "attribute '{}' refers to '{}' of a function, outside of one",
          proto.name(), proto.ref_attr_name());
  const auto found = scope.call->find(proto.ref_attr_name());
  return found == scope.call->end() ? nullptr : found->second;
}

void OnnxImporter::import_operator(onnx::NodeProto& proto, const OpDef* def, int opset,
                                   Scope& scope) {
  Node node;
  node.def = def;
  node.opset = opset;
  node.name = proto.name().empty() ? "" : scope.prefix + proto.name();
  for (const std::string& input : proto.input()) node.inputs.push_back(use(input, scope));
  for (auto& attribute : *proto.mutable_attribute()) {
    checked_name(attribute.name(), "an attribute");
    onnx::AttributeProto* found = resolved(attribute, scope);
    if (found == nullptr) continue;
    try {
      if (found == &attribute) {
        import_attribute(attribute, node, scope);
      } else {
        // A copy: importing moves contents out of the message, to which other nodes may refer.
        onnx::AttributeProto copy = *found;
        copy.set_name(attribute.name());
        import_attribute(copy, node, scope);
      }
    } catch (const Error& error) {
      throw error.within(fmt::format("attribute '{}'", attribute.name()));
    }
  }
  for (const std::string& output : proto.output()) {
    node.outputs.push_back(output.empty() ? -1 : define(output, scope));
  }
  graph_.nodes.push_back(std::move(node));
}

void OnnxImporter::import_attribute(onnx::AttributeProto& proto, Node& node, Scope& scope) {
  Attribute value;
  switch (type_of(proto)) {
    case kFloat: value = proto.f(); break;
    case kInt: value = proto.i(); break;
    case kString: value = proto.s(); break;
    case kTensor: value = model_.tensors.read(*proto.mutable_t()); break;
    case kSparseTensor: value = model_.tensors.read(*proto.mutable_sparse_tensor()); break;
    case kFloats: value = std::vector<float>(proto.floats().begin(), proto.floats().end()); break;
    case kInts: value = std::vector<int64_t>(proto.ints().begin(), proto.ints().end()); break;
    case kStrings:
      value = std::vector<std::string>(proto.strings().begin(), proto.strings().end());
      break;
    case kTensors: {
      std::vector<Tensor> tensors;
      for (auto& tensor : *proto.mutable_tensors()) tensors.push_back(model_.tensors.read(tensor));
      value = std::move(tensors);
      break;
    }
    case kType: value = read_value_type(proto.tp()); break;
    case kGraph: {
      OnnxImporter inner(model_, this);
      Scope* const around = std::exchange(scope_, &scope);
      auto body = std::make_shared<const Graph>(inner.import(*proto.mutable_g()));
      scope_ = around;
      node.bodies.push_back({proto.name(), std::move(body), inner.captured()});
      return;
    }
    default: fail("its type ({}) is not supported", proto.type());
  }
  node.attributes[proto.name()] = std::move(value);
}

namespace {

namespace fs = std::filesystem;

Graph import_model(onnx::ModelProto proto, const fs::path& folder) {
  require(proto.has_graph(), "it holds no graph; is it an ONNX model?");
  OnnxModel model{.opsets = {}, .functions = {}, .tensors = OnnxTensorReader(folder)};
  for (const auto& entry : proto.opset_import()) {
    checked_name(entry.domain(), "a domain");
    model.opsets[standard_domain(entry.domain())] = checked_opset(entry);
  }
  for (const auto& function : proto.functions()) {
    const std::string domain = standard_domain(function.domain());
    checked_name(function.name(), "a function");
    model.functions[{domain, function.name(), function.overload()}] = &function;
  }
  Graph graph = OnnxImporter(model, nullptr).import(*proto.mutable_graph());
  require(!graph.outputs.empty(), "it has no outputs");
  return graph;
}

constexpr std::string_view kNotParsed =
    "it cannot be read as an ONNX model: it is damaged, truncated, nested too deeply, or something "
    "else";

}  // namespace

Graph parse_onnx(std::span<const std::byte> bytes) {
  require(
      bytes.size() <= static_cast<size_t>(std::numeric_limits<int>::max()),
      "{} bytes are more than a model file can have (2 GB); weights can be kept as external data",
      bytes.size());
  require(!bytes.empty(), "it is empty");
  onnx::ModelProto proto;
  require(proto.ParseFromArray(bytes.data(), static_cast<int>(bytes.size())), "{}", kNotParsed);
  return import_model(std::move(proto), {});
}

Graph load_onnx(const fs::path& file) {
  std::error_code error;
  const fs::file_status status = fs::status(file, error);
  require(fs::exists(status), "there is no such file");
  require(!fs::is_directory(status), "it is a directory");
  require(fs::is_regular_file(status), "it is not a regular file");
  std::ifstream stream(file, std::ios::binary);
  require(stream.good(), "it cannot be opened: {}", std::strerror(errno));
  require(stream.peek() != std::ifstream::traits_type::eof(), "it is empty");
  onnx::ModelProto proto;
  google::protobuf::io::IstreamInputStream input(&stream);
  google::protobuf::io::CodedInputStream coded(&input);
  require(proto.ParseFromCodedStream(&coded) && coded.ConsumedEntireMessage() && stream.eof(), "{}",
          kNotParsed);
  const fs::path folder = file.has_parent_path() ? file.parent_path() : fs::path(".");
  return import_model(std::move(proto), folder);
}

}  // namespace aoe

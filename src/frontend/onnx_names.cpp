#include <limits>
#include <queue>
#include <set>

#include "base/error.h"
#include "base/utf8.h"
#include "frontend/onnx.h"
#include "frontend/onnx_importer.h"
#include "op/onnx_types.h"

// Names, execution order and types of an ONNX file, for the importer.

namespace aoe {
namespace {

// Limit of the length of a name in bytes: each inlined call of a function repeats names.
constexpr size_t kMaxName = 4096;

using Nodes = google::protobuf::RepeatedPtrField<onnx::NodeProto>;

// Collects the names that a node uses, including those in its bodies.
void collect_uses(const onnx::NodeProto& node, std::set<std::string>& names);

void collect_uses(const onnx::GraphProto& graph, std::set<std::string>& names) {
  for (const auto& node : graph.node()) collect_uses(node, names);
  for (const auto& output : graph.output()) names.insert(output.name());
}

void collect_uses(const onnx::NodeProto& node, std::set<std::string>& names) {
  for (const std::string& input : node.input()) names.insert(input);
  for (const auto& attribute : node.attribute()) {
    if (attribute.has_g()) collect_uses(attribute.g(), names);
  }
}

}  // namespace

std::string standard_domain(const std::string& domain) { return domain == "ai.onnx" ? "" : domain; }

int checked_opset(const onnx::OperatorSetIdProto& entry) {
  const std::string domain = standard_domain(entry.domain());
  // Versions of other domains are not limited here: find_operator looks for one that fits.
  const int64_t newest = domain.empty() ? kNewestOnnxOpset : std::numeric_limits<int>::max();
  require(entry.version() >= 1 && entry.version() <= newest,
          "it needs opset {} of domain '{}'; opsets 1 to {} are known", entry.version(),
          domain.empty() ? "ai.onnx" : domain, newest);
  return static_cast<int>(entry.version());
}

const std::string& checked_name(const std::string& text, std::string_view what) {
  require(text.size() <= kMaxName, "the name of {} has {} bytes", what, text.size());
  require(is_utf8(text), "the name of {} is not UTF-8", what);
  return text;
}

std::string describe(const onnx::NodeProto& node) {
  checked_name(node.name(), "a node");
  checked_name(node.op_type(), "an operator");
  if (node.name().empty()) return fmt::format("an unnamed node ({})", node.op_type());
  return fmt::format("node '{}' ({})", node.name(), node.op_type());
}

std::vector<int> execution_order(const Nodes& nodes) {
  std::map<std::string, int> producer;
  for (int i = 0; i < nodes.size(); ++i) {
    for (const std::string& output : nodes[i].output()) {
      if (output.empty()) continue;
      require(producer.emplace(output, i).second, "{} produces '{}', which another node does too",
              describe(nodes[i]), output);
    }
  }
  std::vector<std::vector<int>> users(static_cast<size_t>(nodes.size()));
  std::vector<int> waiting_for(static_cast<size_t>(nodes.size()));
  for (int i = 0; i < nodes.size(); ++i) {
    std::set<std::string> names;
    collect_uses(nodes[i], names);
    std::set<int> before;
    for (const std::string& used : names) {
      const auto found = producer.find(used);
      if (found != producer.end()) before.insert(found->second);
    }
    waiting_for[static_cast<size_t>(i)] = static_cast<int>(before.size());
    for (const int other : before) users[static_cast<size_t>(other)].push_back(i);
  }
  // Among nodes that are ready, the order of the file decides.
  std::priority_queue<int, std::vector<int>, std::greater<>> ready;
  for (int i = 0; i < nodes.size(); ++i) {
    if (waiting_for[static_cast<size_t>(i)] == 0) ready.push(i);
  }
  std::vector<int> order;
  while (!ready.empty()) {
    const int i = ready.top();
    ready.pop();
    order.push_back(i);
    for (const int user : users[static_cast<size_t>(i)]) {
      if (--waiting_for[static_cast<size_t>(user)] == 0) ready.push(user);
    }
  }
  for (int i = 0; i < nodes.size(); ++i) {
    require(waiting_for[static_cast<size_t>(i)] == 0,
            "{} is part of a cycle: one of its inputs depends on its output", describe(nodes[i]));
  }
  return order;
}

ValueType read_value_type(const onnx::TypeProto& proto) {
  GraphValue value;
  read_type(proto, value);
  return value.type;
}

void read_type(const onnx::TypeProto& proto, GraphValue& value) {
  switch (proto.value_case()) {
    case onnx::TypeProto::kTensorType: {
      const auto& tensor = proto.tensor_type();
      if (tensor.elem_type() != 0) value.type.dtype = dtype_from_onnx(tensor.elem_type());
      if (!tensor.has_shape()) return;
      std::vector<Dim> dims;
      for (const auto& dim : tensor.shape().dim()) {
        Dim read;
        if (dim.has_dim_value()) read.size = dim.dim_value();
        else read.symbol = checked_name(dim.dim_param(), "a dimension");
        // Some exporters write "?" for unknown dimensions, which need not be equal.
        if (read.symbol == "?") read.symbol.clear();
        require(read.size >= -1, "dimension {} is negative", read.size);
        dims.push_back(std::move(read));
      }
      value.dims = std::move(dims);
      set_shape_if_fixed(value);
      return;
    }
    case onnx::TypeProto::kSequenceType:
      value.type = ValueType::sequence_of(read_value_type(proto.sequence_type().elem_type()).dtype);
      return;
    case onnx::TypeProto::kOptionalType:
      value.type = ValueType::optional_of(read_value_type(proto.optional_type().elem_type()).dtype);
      return;
    case onnx::TypeProto::kMapType: fail("maps are not supported");
    case onnx::TypeProto::kSparseTensorType: fail("sparse tensors are not supported as inputs");
    case onnx::TypeProto::VALUE_NOT_SET: return;
  }
}

}  // namespace aoe

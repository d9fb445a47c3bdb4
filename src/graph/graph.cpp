#include "graph/graph.h"

#include <fmt/ranges.h>

namespace aoe {
namespace {

std::string name_of(const Graph& graph, int id) {
  return id < 0 ? "-" : fmt::format("%{}", graph.value(id).name);
}

}  // namespace

std::string to_string(const Dim& dim) {
  if (dim.is_static()) return std::to_string(dim.size);
  return dim.symbol.empty() ? "?" : dim.symbol;
}

void set_shape_if_fixed(GraphValue& value) {
  if (!value.dims) return;
  Shape shape;
  for (const Dim& dim : *value.dims) {
    if (!dim.is_static()) return;
    shape.push_back(dim.size);
  }
  element_count(shape);
  value.type.shape = std::move(shape);
}

std::string Node::describe() const {
  if (!name.empty()) return fmt::format("node '{}' ({})", name, def->name);
  return fmt::format("an unnamed node ({})", def->name);
}

OpCall call_of(const Graph& graph, const Node& node) {
  OpCall call;
  call.opset = node.opset;
  call.attributes = &node.attributes;
  for (const int id : node.inputs) {
    OpCall::Input input;
    if (id >= 0) {
      const GraphValue& value = graph.value(id);
      input.present = true;
      input.type = value.type;
      if (value.is_constant()) input.value = value.constant;
    }
    call.inputs.push_back(std::move(input));
  }
  for (const int id : node.outputs) call.wanted.push_back(id >= 0);
  for (const Body& body : node.bodies) call.bodies.push_back(body.attribute);
  return call;
}

std::vector<int> use_counts(const Graph& graph) {
  std::vector<int> counts(graph.values.size());
  const auto count = [&](const std::vector<int>& ids) {
    for (const int id : ids) {
      if (id >= 0) ++counts[static_cast<size_t>(id)];
    }
  };
  for (const Node& node : graph.nodes) {
    count(node.inputs);
    for (const Body& body : node.bodies) count(body.captured);
  }
  count(graph.outputs);
  return counts;
}

void verify(const Graph& graph) {
  std::vector<bool> defined(graph.values.size());
  for (size_t i = 0; i < graph.values.size(); ++i) defined[i] = graph.values[i].is_constant();
  for (const int id : graph.inputs) defined[static_cast<size_t>(id)] = true;
  const auto check_uses = [&](const std::vector<int>& ids, const std::string& user) {
    for (const int id : ids) {
      require(id < 0 || defined[static_cast<size_t>(id)], "{} uses '{}', which nothing produces",
              user, id < 0 ? "" : graph.value(id).name);
    }
  };
  for (const Node& node : graph.nodes) {
    require(node.inputs.size() <= kMostInputs, "{} has {} inputs; at most {} are supported",
            node.describe(), node.inputs.size(), kMostInputs);
    check_uses(node.inputs, node.describe());
    for (const Body& body : node.bodies) check_uses(body.captured, node.describe());
    for (const int id : node.outputs) {
      if (id < 0) continue;
      require(!defined[static_cast<size_t>(id)], "{} produces '{}', which exists already",
              node.describe(), graph.value(id).name);
      defined[static_cast<size_t>(id)] = true;
    }
  }
  check_uses(graph.outputs, "the graph's output list");
}

std::string to_string(const Graph& graph) {
  std::string text;
  const auto list = [&](const std::vector<int>& ids) {
    std::vector<std::string> names;
    for (const int id : ids) names.push_back(name_of(graph, id));
    return fmt::format("{}", fmt::join(names, ", "));
  };
  for (const int id : graph.inputs) {
    text += fmt::format("input {} {}\n", name_of(graph, id), to_string(graph.value(id).type));
  }
  for (const Node& node : graph.nodes) {
    text += fmt::format("{} = {}({})", list(node.outputs), node.def->name, list(node.inputs));
    for (const int id : node.outputs) {
      if (id >= 0) text += fmt::format(" {}", to_string(graph.value(id).type));
    }
    text += '\n';
  }
  return text + fmt::format("output {}\n", list(graph.outputs));
}

}  // namespace aoe

#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/numerics.h"
#include "base/value.h"
#include "op/operator.h"

namespace aoe {

// A declared dimension of an input or output: a size, or a symbol until shapes are known. A
// negative size without a symbol is anonymous: it is not related to any other dimension.
struct Dim {
  int64_t size = -1;
  std::string symbol;

  bool is_static() const { return size >= 0; }
  bool operator==(const Dim&) const = default;
};
std::string to_string(const Dim& dim);

// A typed edge of a graph. It does not record its producer: the node that lists it as an output.
struct GraphValue {
  std::string name;
  ValueType type;
  Tensor constant;                       // contents, if they are constant
  std::optional<std::vector<Dim>> dims;  // declared dimensions of inputs and outputs of a model
  std::optional<ValueType> declared;     // type of an output according to the file; not trusted

  bool is_constant() const { return !constant.empty(); }
};

// Sets the shape of a value whose declared dimensions are all static. Fails if the number of its
// elements overflows.
void set_shape_if_fixed(GraphValue& value);

struct Graph;

// A subgraph in an attribute of a control-flow node. Values of the outer graph that it uses are the
// last inputs of its graph, after the declared ones; `captured` has their numbers in the outer
// graph.
struct Body {
  std::string attribute;
  std::shared_ptr<const Graph> graph;
  std::vector<int> captured;
};

struct Node {
  const OpDef* def = nullptr;
  int opset = 0;
  std::string name;
  std::vector<int> inputs;  // values; -1 for an omitted optional input
  std::vector<int> outputs;
  Attributes attributes;
  std::vector<Body> bodies;
  Numerics numerics = Numerics::winograd;  // the algorithms that may compute it

  // "node 'conv1' (Conv)", for messages.
  std::string describe() const;
};

// A model or a body, with its nodes in topological order. Every value that is used is constant, an
// input, or the output of exactly one node.
struct Graph {
  std::string name;
  std::vector<GraphValue> values;
  std::vector<Node> nodes;
  std::vector<int> inputs;
  std::vector<int> outputs;
  std::vector<std::string> output_names;  // a value may be an output under several names

  GraphValue& value(int id) { return values[static_cast<size_t>(id)]; }
  const GraphValue& value(int id) const { return values[static_cast<size_t>(id)]; }
};

// Limit of the inputs of a node: a variadic operator becomes an expression of as many levels.
inline constexpr size_t kMostInputs = 4096;

// Fails unless the rules above hold; the message names the node that violates them.
void verify(const Graph& graph);

// The call of a node's operator, with the types and constants of its inputs that are known.
OpCall call_of(const Graph& graph, const Node& node);

// Number of uses of each value by nodes, bodies and outputs.
std::vector<int> use_counts(const Graph& graph);

// One line per node, for people and tests.
std::string to_string(const Graph& graph);

}  // namespace aoe

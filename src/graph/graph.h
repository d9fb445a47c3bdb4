#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/value.h"
#include "op/operator.h"

namespace aoe {

// A dimension of a declared input: a number, or a name that stands for one until shapes are known.
// A negative size without a name is anonymous: nothing ties it to another dimension.
struct Dim {
  int64_t size = -1;
  std::string symbol;

  bool is_static() const { return size >= 0; }
  bool operator==(const Dim&) const = default;
};
std::string to_string(const Dim& dim);

// A typed edge of a graph. Whoever produces it is found by looking at the nodes.
struct GraphValue {
  std::string name;
  ValueType type;
  Tensor constant;                       // contents, if they are constant
  std::optional<std::vector<Dim>> dims;  // as declared; for inputs and outputs of a model
  std::optional<ValueType> declared;     // an output's type as the file has it, not to be relied on

  bool is_constant() const { return !constant.empty(); }
};

// Gives a value whose declared dimensions are all static their shape. Fails if its elements cannot
// be counted.
void set_shape_if_fixed(GraphValue& value);

struct Graph;

// A subgraph in an attribute of a control-flow node. Outer values it uses are inputs of its graph
// too: after its declared inputs come the `captured` ones, given here as values of the outer graph.
struct Body {
  std::string attribute;
  std::shared_ptr<const Graph> graph;
  std::vector<int> captured;
};

struct Node {
  const OpDef* def = nullptr;
  int opset = 0;
  std::string name;
  std::vector<int> inputs;  // values; -1 where an optional input is left out
  std::vector<int> outputs;
  Attributes attributes;
  std::vector<Body> bodies;

  // "node 'conv1' (Conv)", for messages.
  std::string describe() const;
};

// A model or a body: nodes in an order in which each comes after what it uses. Every value is
// constant, an input, or the output of exactly one node.
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

// Operators of any number of inputs become expressions as deep.
inline constexpr size_t kMostInputs = 4096;

// Fails unless the rules above hold; names the node that breaks them.
void verify(const Graph& graph);

// What is known of a node's call from the types and constants around it.
OpCall call_of(const Graph& graph, const Node& node);

// How many nodes, bodies and outputs use each value.
std::vector<int> use_counts(const Graph& graph);

// One line a node, for people and tests.
std::string to_string(const Graph& graph);

}  // namespace aoe

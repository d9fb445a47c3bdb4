#pragma once

#include "base/file.h"
#include "frontend/om.pb.h"
#include "graph/graph.h"

namespace aoe {

// Builds the graph from the messages of an .om file, which are not trusted: it fails on anything
// inconsistent.
class OmReader {
 public:
  // `weights` in the order of the file; tensors refer to them by index.
  explicit OmReader(std::vector<Bytes> weights) : weights_(std::move(weights)) {}

  Graph read_model(const om::Graph& proto) const;

 private:
  Graph read_graph(const om::Graph& proto, int depth) const;
  void read_values(const om::Graph& proto, Graph& graph) const;
  void read_inputs(const om::Graph& proto, Graph& graph) const;
  Node read_node(const om::Node& proto, const Graph& graph, int depth) const;
  Body read_body(const om::Body& proto, const Graph& graph, int depth) const;
  Attribute read_attribute(const om::Attribute& proto) const;
  Tensor read_tensor(const om::Tensor& proto) const;

  std::vector<Bytes> weights_;
};

}  // namespace aoe

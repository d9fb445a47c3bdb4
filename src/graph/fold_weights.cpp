#include <algorithm>
#include <cmath>
#include <map>

#include "graph/simplify.h"

// Behind a convolution or product with constant weights, arithmetic with constants that treats each
// channel alike is the same convolution with other weights: y = (W x + b) * scale + shift.

namespace aoe {
namespace {

struct ChannelAffine {
  int input = -1;  // the value it is applied to
  std::vector<double> scale;
  std::vector<double> shift;
};

const Tensor* float_constant(const Graph& graph, const Node& node, size_t input) {
  if (input >= node.inputs.size() || node.inputs[input] < 0) return nullptr;
  const Tensor& tensor = graph.value(node.inputs[input]).constant;
  const bool fits =
      !tensor.empty() && (tensor.dtype() == DType::f32 || tensor.dtype() == DType::f64);
  return fits ? &tensor : nullptr;
}

template <typename T>
T attribute_or(const Node& node, std::string_view name, T otherwise) {
  const auto found = node.attributes.find(name);
  const T* value = found == node.attributes.end() ? nullptr : std::get_if<T>(&found->second);
  return value != nullptr ? *value : otherwise;
}

std::optional<ChannelAffine> batch_normalization(const Graph& graph, const Node& node) {
  if (attribute_or<int64_t>(node, "training_mode", 0) != 0) return std::nullopt;
  std::vector<std::vector<double>> parameters;
  for (size_t i = 1; i <= 4; ++i) {
    const Tensor* constant = float_constant(graph, node, i);
    if (constant == nullptr) return std::nullopt;
    parameters.push_back(constant->to_doubles());
  }
  const double small = attribute_or<float>(node, "epsilon", 1e-5f);
  ChannelAffine affine{.input = node.inputs[0], .scale = {}, .shift = {}};
  for (size_t c = 0; c < parameters[0].size(); ++c) {
    const double scale = parameters[0][c] / std::sqrt(parameters[3][c] + small);
    affine.scale.push_back(scale);
    affine.shift.push_back(parameters[1][c] - parameters[2][c] * scale);
  }
  return affine;
}

// A constant's value for each channel (axis 1) of `shape`, if it has one for all positions of each.
std::optional<std::vector<double>> per_channel(const Tensor& constant, const Shape& shape) {
  const auto channels = static_cast<size_t>(shape[1]);
  std::vector<double> values = constant.to_doubles();
  if (values.size() == 1 && constant.shape().size() <= shape.size()) {
    return std::vector<double>(channels, values[0]);
  }
  const size_t missing = shape.size() - std::min(shape.size(), constant.shape().size());
  if (values.size() != channels || missing > 1 || constant.shape().size() > shape.size()) {
    return std::nullopt;
  }
  return constant.shape()[1 - missing] == shape[1] ? std::optional(values) : std::nullopt;
}

std::optional<ChannelAffine> arithmetic(const Graph& graph, const Node& node) {
  const std::string_view op = node.def->name;
  const Tensor* left = float_constant(graph, node, 0);
  const Tensor* right = float_constant(graph, node, 1);
  if ((left == nullptr) == (right == nullptr) || (left != nullptr && op == "Div")) {
    return std::nullopt;
  }
  ChannelAffine affine{.input = node.inputs[left != nullptr ? 1 : 0], .scale = {}, .shift = {}};
  const ValueType& type = graph.value(affine.input).type;
  if (!type.is_static() || type.shape->size() < 2 ||
      graph.value(node.outputs[0]).type.shape != type.shape) {
    return std::nullopt;
  }
  const auto values = per_channel(left != nullptr ? *left : *right, *type.shape);
  if (!values) return std::nullopt;
  for (const double value : *values) {
    const bool scales = op == "Mul" || op == "Div";
    if (scales) affine.scale.push_back(op == "Mul" ? value : 1 / value);
    else affine.scale.push_back(op == "Sub" && left != nullptr ? -1 : 1);
    if (scales) affine.shift.push_back(0);
    else affine.shift.push_back(op == "Sub" && left == nullptr ? -value : value);
  }
  return affine;
}

std::optional<ChannelAffine> channel_affine(const Graph& graph, const Node& node) {
  if (!node.def->domain.empty()) return std::nullopt;
  const std::string_view op = node.def->name;
  if (op == "BatchNormalization") return batch_normalization(graph, node);
  if (op == "Add" || op == "Sub" || op == "Mul" || op == "Div") return arithmetic(graph, node);
  return std::nullopt;
}

// The weights' elements that make output channel m are those with channel_of(element) == m.
Tensor scaled(const Tensor& weights, const std::vector<double>& scale, int64_t inner,
              int64_t group_rows, int64_t columns) {
  Tensor result(weights.type());
  dispatch(weights.dtype(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    const int64_t count = weights.count();
    for (int64_t i = 0; i < count; ++i) {
      const int64_t row = i / (inner * columns);
      const int64_t column = i / inner % columns;
      const auto channel = static_cast<size_t>(row / group_rows * columns + column);
      const double value = static_cast<double>(weights.data<T>()[i]) * scale[channel];
      result.data<T>()[i] = static_cast<T>(static_cast<float>(value));
      if constexpr (std::is_same_v<T, double>) result.data<T>()[i] = value;
    }
  });
  return result;
}

Tensor vector_of(DType dtype, const std::vector<double>& values) {
  const Shape shape{static_cast<int64_t>(values.size())};
  if (dtype == DType::f64) return Tensor::of(values, shape);
  return Tensor::of(std::vector<float>(values.begin(), values.end()), shape);
}

int add_constant(Graph& graph, std::string name, Tensor tensor) {
  GraphValue value{.name = std::move(name), .type = tensor.type(), .constant = {}, .dims = {}};
  value.constant = std::move(tensor);
  graph.values.push_back(std::move(value));
  return static_cast<int>(graph.values.size()) - 1;
}

bool fold(Graph& graph, Node& producer, const ChannelAffine& affine) {
  const std::string_view op = producer.def->name;
  const Tensor* weights = float_constant(graph, producer, 1);
  if (!producer.def->domain.empty() || weights == nullptr || weights->rank() < 2) return false;
  const bool has_bias = producer.inputs.size() > 2 && producer.inputs[2] >= 0;
  const Tensor* bias = float_constant(graph, producer, 2);
  if (has_bias && bias == nullptr) return false;
  const auto channels = static_cast<int64_t>(affine.scale.size());
  Tensor folded;
  if (op == "Conv") {
    if (weights->shape()[0] != channels) return false;
    folded = scaled(*weights, affine.scale, weights->count() / channels, 1, 1);
  } else if (op == "ConvTranspose") {
    // Rows are input channels; those of one group give the same output channels.
    const int64_t columns = weights->shape()[1];
    const int64_t rows = weights->shape()[0];
    if (columns == 0 || channels % columns != 0 || rows % (channels / columns) != 0) return false;
    folded = scaled(*weights, affine.scale, weights->count() / (rows * columns),
                    rows / (channels / columns), columns);
  } else {
    return false;
  }
  std::vector<double> shift = affine.shift;
  if (bias != nullptr) {
    const std::vector<double> values = bias->to_doubles();
    if (values.size() != shift.size()) return false;
    for (size_t c = 0; c < shift.size(); ++c) shift[c] += values[c] * affine.scale[c];
  }
  const DType dtype = weights->dtype();
  const std::string name = graph.value(producer.inputs[1]).name;
  producer.inputs.resize(3);
  producer.inputs[1] = add_constant(graph, name, std::move(folded));
  producer.inputs[2] = add_constant(graph, name + ".bias", vector_of(dtype, shift));
  return true;
}

}  // namespace

void fold_into_weights(Graph& graph) {
  const std::vector<int> uses = use_counts(graph);
  std::map<int, size_t> producer_of;
  std::vector<Node> kept;
  for (Node& node : graph.nodes) {
    const auto affine = channel_affine(graph, node);
    const auto found = affine ? producer_of.find(affine->input) : producer_of.end();
    const bool alone = affine && uses[static_cast<size_t>(affine->input)] == 1 &&
                       std::count_if(node.outputs.begin(), node.outputs.end(),
                                     [](int id) { return id >= 0; }) == 1;
    if (alone && found != producer_of.end() && fold(graph, kept[found->second], *affine)) {
      const size_t producer = found->second;
      kept[producer].outputs[0] = node.outputs[0];
      producer_of[node.outputs[0]] = producer;
      continue;
    }
    for (const int id : node.outputs) producer_of[id] = kept.size();
    kept.push_back(std::move(node));
  }
  graph.nodes = std::move(kept);
}

}  // namespace aoe

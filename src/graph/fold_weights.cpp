#include <algorithm>
#include <cmath>
#include <map>

#include "graph/simplify.h"

// Folds batch normalization and arithmetic with one constant per channel into the weights and the
// bias of the convolution before it: (W x + b) * scale + shift. The decision depends only on the
// weights, so it is possible before the shape of the input is known.

namespace aoe {
namespace {

// Factor and addend of each output channel of a convolution.
struct ChannelAffine {
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

bool is_default(const Node& node, std::string_view name) {
  return node.def->domain.empty() && node.def->name == name;
}

// Weights as [rows][columns][inner]. The elements of a row and column contribute to output channel
// row / group_rows * columns + column.
struct Weights {
  const Tensor* tensor = nullptr;
  int64_t inner = 0;
  int64_t columns = 0;
  int64_t group_rows = 0;
  int64_t channels = 0;
};

// The weights of a convolution; none if they, or its bias, are not constant f32 or f64.
std::optional<Weights> weights_of(const Graph& graph, const Node& node) {
  const bool transposed = is_default(node, "ConvTranspose");
  if (!transposed && !is_default(node, "Conv")) return std::nullopt;
  const Tensor* tensor = float_constant(graph, node, 1);
  const bool has_bias = node.inputs.size() > 2 && node.inputs[2] >= 0;
  const Tensor* bias = float_constant(graph, node, 2);
  if (tensor == nullptr || tensor->rank() < 2 || tensor->count() == 0) return std::nullopt;
  if (has_bias && bias == nullptr) return std::nullopt;
  const int64_t rows = tensor->shape()[0];
  Weights weights{tensor, tensor->count() / rows, 1, 1, rows};
  if (transposed) {
    // Rows are input channels; those of one group contribute to the same output channels.
    const int64_t groups = attribute_or<int64_t>(node, "group", 1);
    if (groups <= 0 || rows % groups != 0) return std::nullopt;
    weights.columns = tensor->shape()[1];
    weights.inner = tensor->count() / (rows * weights.columns);
    weights.group_rows = rows / groups;
    weights.channels = checked_mul(weights.columns, groups);
  }
  if (has_bias && bias->count() != weights.channels) return std::nullopt;
  return weights;
}

std::optional<ChannelAffine> batch_normalization(const Graph& graph, const Node& node,
                                                 int64_t channels) {
  if (attribute_or<int64_t>(node, "training_mode", 0) != 0) return std::nullopt;
  if (attribute_or<int64_t>(node, "spatial", 1) != 1) return std::nullopt;
  std::vector<std::vector<double>> parameters;
  for (size_t i = 1; i <= 4; ++i) {
    const Tensor* constant = float_constant(graph, node, i);
    if (constant == nullptr || constant->count() != channels) return std::nullopt;
    parameters.push_back(constant->to_doubles());
  }
  const double small = attribute_or<float>(node, "epsilon", 1e-5f);
  ChannelAffine affine;
  for (size_t c = 0; c < parameters[0].size(); ++c) {
    const double scale = parameters[0][c] / std::sqrt(parameters[3][c] + small);
    affine.scale.push_back(scale);
    affine.shift.push_back(parameters[1][c] - parameters[2][c] * scale);
  }
  return affine;
}

// The values of a constant, broadcast to a tensor of that rank, per channel (axis 1); none if it
// varies along another axis.
std::optional<std::vector<double>> per_channel(const Tensor& constant, size_t rank,
                                               int64_t channels) {
  const size_t constant_rank = constant.shape().size();
  if (constant_rank > rank) return std::nullopt;
  std::vector<double> values = constant.to_doubles();
  if (values.size() == 1) return std::vector<double>(static_cast<size_t>(channels), values[0]);
  const bool along_channels =
      constant_rank + 1 >= rank && constant.shape()[constant_rank + 1 - rank] == channels;
  if (!along_channels || constant.count() != channels) return std::nullopt;
  return values;
}

std::optional<ChannelAffine> arithmetic(const Graph& graph, const Node& node,
                                        const Weights& weights) {
  const std::string_view op = node.def->name;
  const Tensor* left = float_constant(graph, node, 0);
  const Tensor* right = float_constant(graph, node, 1);
  const bool scales = op == "Mul" || op == "Div";
  if (!scales && op != "Add" && op != "Sub") return std::nullopt;
  if ((left == nullptr) == (right == nullptr) || (left != nullptr && op == "Div")) {
    return std::nullopt;
  }
  const auto values = per_channel(left != nullptr ? *left : *right, weights.tensor->shape().size(),
                                  weights.channels);
  if (!values) return std::nullopt;
  ChannelAffine affine;
  for (const double value : *values) {
    if (scales) {
      affine.scale.push_back(op == "Mul" ? value : 1 / value);
      affine.shift.push_back(0);
    } else {
      affine.scale.push_back(op == "Sub" && left != nullptr ? -1 : 1);
      affine.shift.push_back(op == "Sub" && left == nullptr ? -value : value);
    }
  }
  return affine;
}

Tensor scaled(const Weights& weights, const std::vector<double>& scale) {
  const auto scale_all = [&]<typename T>(Tag<T>) {
    Tensor result(weights.tensor->type());
    const T* from = weights.tensor->data<T>();
    T* to = result.data<T>();
    for (int64_t part = 0; part < weights.tensor->count() / weights.inner; ++part) {
      const int64_t row = part / weights.columns;
      const int64_t column = part % weights.columns;
      const int64_t channel = row / weights.group_rows * weights.columns + column;
      const double factor = scale[static_cast<size_t>(channel)];
      for (int64_t i = 0; i < weights.inner; ++i) *to++ = static_cast<T>(*from++ * factor);
    }
    return result;
  };
  return weights.tensor->dtype() == DType::f64 ? scale_all(Tag<double>{}) : scale_all(Tag<float>{});
}

Tensor vector_of(DType dtype, const std::vector<double>& values) {
  const Shape shape{static_cast<int64_t>(values.size())};
  if (dtype == DType::f64) return Tensor::of(values, shape);
  return Tensor::of(std::vector<float>(values.begin(), values.end()), shape);
}

int add_constant(Graph& graph, std::string name, Tensor tensor) {
  GraphValue value;
  value.name = std::move(name);
  value.type = tensor.type();
  value.constant = std::move(tensor);
  graph.values.push_back(std::move(value));
  return static_cast<int>(graph.values.size()) - 1;
}

void apply(Graph& graph, Node& convolution, const Weights& weights, const ChannelAffine& affine) {
  std::vector<double> shift = affine.shift;
  if (const Tensor* bias = float_constant(graph, convolution, 2)) {
    const std::vector<double> values = bias->to_doubles();
    for (size_t c = 0; c < shift.size(); ++c) shift[c] += values[c] * affine.scale[c];
  }
  Tensor bias = vector_of(weights.tensor->dtype(), shift);
  Tensor folded = scaled(weights, affine.scale);
  const std::string name = graph.value(convolution.inputs[1]).name;
  convolution.inputs.resize(3);
  convolution.inputs[1] = add_constant(graph, name, std::move(folded));
  convolution.inputs[2] = add_constant(graph, name + ".bias", std::move(bias));
}

// The only input that is not constant; -1 if there is none or more than one.
int only_variable(const Graph& graph, const Node& node) {
  int found = -1;
  for (const int id : node.inputs) {
    if (id < 0 || graph.value(id).is_constant()) continue;
    if (found >= 0) return -1;
    found = id;
  }
  return found;
}

// Folds `node` into the convolution, whose output it uses; false if that is not possible.
bool fold(Graph& graph, Node& convolution, const Node& node) {
  const auto weights = weights_of(graph, convolution);
  if (!weights || !node.def->domain.empty()) return false;
  const auto affine = node.def->name == "BatchNormalization"
                          ? batch_normalization(graph, node, weights->channels)
                          : arithmetic(graph, node, *weights);
  if (!affine) return false;
  apply(graph, convolution, *weights, *affine);
  convolution.outputs[0] = node.outputs[0];
  return true;
}

bool has_one_output(const Node& node) {
  return !node.outputs.empty() && node.outputs[0] >= 0 &&
         std::all_of(node.outputs.begin() + 1, node.outputs.end(), [](int id) { return id < 0; });
}

}  // namespace

void fold_into_weights(Graph& graph) {
  const std::vector<int> uses = use_counts(graph);
  std::map<int, size_t> producer_of;
  std::vector<Node> kept;
  for (Node& node : graph.nodes) {
    const int input = has_one_output(node) ? only_variable(graph, node) : -1;
    const auto found = producer_of.find(input);
    const bool alone = found != producer_of.end() && uses[static_cast<size_t>(input)] == 1;
    if (alone && fold(graph, kept[found->second], node)) {
      producer_of[node.outputs[0]] = found->second;
      continue;
    }
    if (has_one_output(node)) producer_of[node.outputs[0]] = kept.size();
    kept.push_back(std::move(node));
  }
  graph.nodes = std::move(kept);
}

}  // namespace aoe

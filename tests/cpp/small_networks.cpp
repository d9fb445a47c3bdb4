#include "tests/cpp/small_networks.h"

#include "codegen/cpu_backend.h"
#include "graph/simplify.h"

#include <random>

namespace aoe {
namespace {

// A constant of small seeded numbers.
void weights(OnnxBuilder& b, const std::string& name, const std::vector<int64_t>& dims) {
  std::mt19937 random(static_cast<unsigned>(name.size() * 31 + name.back()));
  std::vector<float> numbers(static_cast<size_t>(element_count(dims)));
  for (float& number : numbers) number = static_cast<float>(random() % 17) / 32 - 0.25f;
  b.floats(name, dims, numbers);
}

void set_int(onnx::NodeProto& node, const std::string& name, int64_t value) {
  auto* attribute = node.add_attribute();
  attribute->set_name(name);
  attribute->set_type(2);
  attribute->set_i(value);
}

onnx::NodeProto& convolution(OnnxBuilder& b, const std::string& from, const std::string& to,
                             int64_t in, int64_t out, int64_t window) {
  weights(b, "w_" + to, {out, in, window, window});
  auto& node = b.node("Conv", {from, "w_" + to}, {to});
  OnnxBuilder::set_ints(node, "pads", std::vector<int64_t>(4, window / 2));
  return node;
}

}  // namespace

OnnxBuilder small_convolutional_network() {
  OnnxBuilder b;
  b.input("image", {1, 3, 32, 32});
  convolution(b, "image", "stem", 3, 32, 3);
  b.node("Relu", {"stem"}, {"a"});
  convolution(b, "a", "b", 32, 32, 3);
  b.node("Add", {"a", "b"}, {"residual"});
  b.node("Relu", {"residual"}, {"c"});
  auto& pool = b.node("MaxPool", {"c"}, {"d"});
  OnnxBuilder::set_ints(pool, "kernel_shape", {2, 2});
  OnnxBuilder::set_ints(pool, "strides", {2, 2});
  convolution(b, "d", "left", 32, 16, 1);
  convolution(b, "d", "right", 32, 48, 3);
  set_int(b.node("Concat", {"left", "right"}, {"joined"}), "axis", 1);
  b.ints("parts", {32, 32});
  set_int(b.node("Split", {"joined", "parts"}, {"low", "high"}), "axis", 1);
  b.node("Mul", {"low", "high"}, {"gated"});
  set_int(b.node("Flatten", {"gated"}, {"flat"}), "axis", 1);
  weights(b, "head", {32 * 16 * 16, 40});
  b.node("MatMul", {"flat", "head"}, {"logits"});
  b.node("Softmax", {"logits"}, {"scores"});
  b.output("scores");
  b.output("joined");
  return b;
}

OnnxBuilder small_attention_network() {
  OnnxBuilder b;
  b.input("tokens", {64, 96});
  b.input("mask", {64, 64}, 9);
  weights(b, "scale", {96});
  weights(b, "shift", {96});
  b.node("LayerNormalization", {"tokens", "scale", "shift"}, {"normed"});
  for (const std::string name : {"q", "k", "v"}) {
    weights(b, "w_" + name, {96, 96});
    b.node("MatMul", {"normed", "w_" + name}, {name});
  }
  OnnxBuilder::set_ints(b.node("Transpose", {"k"}, {"kt"}), "perm", {1, 0});
  b.node("MatMul", {"q", "kt"}, {"products"});
  b.floats("far", {1}, {-1e4f});
  b.node("Where", {"mask", "far", "products"}, {"masked"});
  b.node("Softmax", {"masked"}, {"weights"});
  b.node("MatMul", {"weights", "v"}, {"mixed"});
  b.node("Add", {"tokens", "mixed"}, {"sum"});
  b.node("Sigmoid", {"sum"}, {"gate"});
  b.node("Mul", {"sum", "gate"}, {"y"});
  b.output("y");
  return b;
}

OnnxBuilder two_convolutions_network() {
  OnnxBuilder b;
  b.input("x", {1, 16, 8, 8});
  b.floats("w", {32, 16, 3, 3}, std::vector<float>(32 * 16 * 9, 0.5F));
  b.floats("v", {32, 32, 3, 3}, std::vector<float>(32 * 32 * 9, 0.5F));
  b.node("Conv", {"x", "w"}, {"a"});
  b.node("Sigmoid", {"a"}, {"b"});
  b.node("Sigmoid", {"a"}, {"c"});
  b.node("Add", {"b", "c"}, {"d"});
  b.node("Conv", {"d", "v"}, {"y"});
  b.output("y");
  return b;
}

Graph two_convolutions() {
  Graph graph = two_convolutions_network().parse();
  simplify(graph);
  return graph;
}

LoadedModel loaded(const OnnxBuilder& builder, const LoadOptions& options,
                   const std::shared_ptr<const Backend>& backend) {
  const std::string bytes = builder.bytes();
  return LoadedModel::from_bytes(std::as_bytes(std::span(bytes)), options, backend);
}

CallMemory::CallMemory(const LoadedModel& model, int seed) {
  std::mt19937 random(static_cast<unsigned>(seed));
  const auto view = [&](const Port& port) -> TensorView {
    Tensor& tensor = tensors_.emplace_back(Tensor::zeros(port.type.tensor()));
    return {tensor.dtype(), *port.type.shape, tensor.raw()};
  };
  for (const Port& port : model.inputs()) {
    inputs_.push_back(view(port));
    Tensor& tensor = tensors_.back();
    for (int64_t i = 0; i < tensor.count(); ++i) {
      const auto number = static_cast<int>(random() % 64);
      if (tensor.dtype() == DType::boolean) tensor.data<bool>()[i] = number % 3 == 0;
      else tensor.data<float>()[i] = static_cast<float>(number) / 16 - 2;
    }
  }
  for (const Port& port : model.outputs()) outputs_.push_back(view(port));
}

std::string CallMemory::bits() const {
  std::string bits;
  for (const TensorView& view : outputs_) {
    bits.append(static_cast<const char*>(view.elements),
                static_cast<size_t>(view.count() * info(view.dtype).bytes));
  }
  return bits;
}

}  // namespace aoe

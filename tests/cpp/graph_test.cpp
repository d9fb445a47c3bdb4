#include <gtest/gtest.h>

#include <algorithm>

#include "codegen/cpu_backend.h"
#include "graph/simplify.h"
#include "runtime/loaded_model.h"
#include "tests/cpp/onnx_builder.h"

namespace aoe {
namespace {

std::vector<std::string> operators(const Graph& graph) {
  std::vector<std::string> names;
  for (const Node& node : graph.nodes) names.emplace_back(node.def->name);
  return names;
}

Graph simplified(const OnnxBuilder& builder) {
  Graph graph = builder.parse();
  simplify(graph);
  verify(graph);
  return graph;
}

std::vector<double> run(const OnnxBuilder& builder, const std::map<std::string, Value>& feeds,
                        const LoadOptions& options = {}) {
  const std::string bytes = builder.bytes();
  const auto model =
      LoadedModel::from_bytes(std::as_bytes(std::span(bytes)), options, host_backend());
  return model.run(feeds)[0].tensor().to_doubles();
}

Tensor counting(Shape shape) {
  Tensor tensor(DType::f32, std::move(shape));
  for (int64_t i = 0; i < tensor.count(); ++i) {
    tensor.data<float>()[i] = static_cast<float>(i % 7) - 2.5f;
  }
  return tensor;
}

// x -> Shape -> Gather -> Concat -> Reshape, as exporters write "flatten all but the batch".
OnnxBuilder reshape_by_arithmetic() {
  OnnxBuilder b;
  b.input("x", {2, 3, 4});
  b.ints("zero", {0});
  b.ints("rest", {-1});
  b.node("Shape", {"x"}, {"shape"});
  b.node("Gather", {"shape", "zero"}, {"batch"});
  auto& concat = b.node("Concat", {"batch", "rest"}, {"target"});
  auto* axis = concat.add_attribute();
  axis->set_name("axis");
  axis->set_type(2);
  b.node("Reshape", {"x", "target"}, {"y"});
  b.output("y");
  return b;
}

TEST(Simplify, ShapeArithmeticBecomesConstant) {
  const Graph graph = simplified(reshape_by_arithmetic());
  EXPECT_EQ(operators(graph), std::vector<std::string>{"Reshape"});
  EXPECT_EQ(graph.value(graph.outputs[0]).type.shape, (Shape{2, 12}));
}

TEST(Simplify, IdentitiesAndUnusedNodesGo) {
  OnnxBuilder b;
  b.input("x", {4});
  b.node("Identity", {"x"}, {"a"});
  b.node("Dropout", {"a"}, {"c"});
  b.node("Exp", {"x"}, {"unused"});
  b.node("Relu", {"c"}, {"y"});
  b.output("y");
  EXPECT_EQ(operators(simplified(b)), std::vector<std::string>{"Relu"});
}

TEST(Simplify, AnIdentityThatIsAnOutputStays) {
  OnnxBuilder b;
  b.input("x", {4});
  b.node("Identity", {"x"}, {"y"});
  b.output("y");
  EXPECT_EQ(operators(simplified(b)), std::vector<std::string>{"Identity"});
  EXPECT_EQ(run(b, {{"x", counting({4})}}), counting({4}).to_doubles());
}

TEST(Simplify, ConstantArithmeticIsDoneOnce) {
  OnnxBuilder b;
  b.input("x", {2});
  b.floats("p", {2}, {1, 2});
  b.floats("q", {2}, {10, 20});
  b.node("Mul", {"p", "q"}, {"pq"});
  b.node("Add", {"x", "pq"}, {"y"});
  b.output("y");
  const Graph graph = simplified(b);
  ASSERT_EQ(operators(graph), std::vector<std::string>{"Add"});
  EXPECT_EQ(graph.value(graph.nodes[0].inputs[1]).constant.to_doubles(),
            (std::vector<double>{10, 40}));
}

// A convolution followed by all operators that fold into its weights.
OnnxBuilder convolution_with_tail(const std::string& type, int64_t group) {
  OnnxBuilder b;
  b.input("x", {1, 4, 5, 5});
  const int64_t rows = type == "Conv" ? 6 : 4;
  const int64_t columns = (type == "Conv" ? 4 : 6) / group;
  const Tensor weights = counting({rows, columns, 3, 3});
  b.floats("w", weights.shape(), {weights.data<float>(), weights.data<float>() + weights.count()});
  b.floats("bias", {6}, {1, 2, 3, 4, 5, 6});
  b.floats("scale", {6}, {1, 0.5, 2, -1, 3, 1});
  b.floats("shift", {6}, {0, 1, -1, 2, 0.5, 0});
  b.floats("mean", {6}, {0.1f, 0.2f, 0, -1, 1, 2});
  b.floats("var", {6}, {1, 2, 0.5, 1, 4, 9});
  b.floats("factor", {6, 1, 1}, {2, 3, 0.5, 1, -1, 1});
  b.floats("half", {}, {0.5});
  auto& node = b.node(type, {"x", "w", "bias"}, {"c"});
  auto* attribute = node.add_attribute();
  attribute->set_name("group");
  attribute->set_type(2);
  attribute->set_i(group);
  b.node("BatchNormalization", {"c", "scale", "shift", "mean", "var"}, {"n"});
  b.node("Mul", {"factor", "n"}, {"m"});
  b.node("Sub", {"half", "m"}, {"s"});
  b.node("Div", {"s", "half"}, {"y"});
  b.output("y");
  return b;
}

struct FoldCase {
  const char* type;
  int64_t group;
};
class FoldIntoWeights : public testing::TestWithParam<FoldCase> {};
INSTANTIATE_TEST_SUITE_P(Kinds, FoldIntoWeights,
                         testing::Values(FoldCase{"Conv", 1}, FoldCase{"Conv", 2},
                                         FoldCase{"ConvTranspose", 1},
                                         FoldCase{"ConvTranspose", 2}));

TEST_P(FoldIntoWeights, LeavesOneNodeAndTheSameNumbers) {
  OnnxBuilder b = convolution_with_tail(GetParam().type, GetParam().group);
  EXPECT_EQ(operators(simplified(b)), std::vector<std::string>{GetParam().type});
  const Value x = counting({1, 4, 5, 5});
  const std::vector<double> folded = run(b, {{"x", x}});
  // A second use of the convolution's result prevents folding.
  b.output("c");
  EXPECT_EQ(operators(simplified(b)).size(), 5u);
  const std::vector<double> plain = run(b, {{"x", x}});
  ASSERT_EQ(folded.size(), plain.size());
  for (size_t i = 0; i < plain.size(); ++i) {
    ASSERT_NEAR(folded[i], plain[i], 1e-4 * std::max(1.0, std::abs(plain[i])));
  }
}

TEST(FoldIntoWeights, SurvivesOddNodes) {
  OnnxBuilder b;
  b.input("x", {1, 3, 5, 5});
  b.floats("none", {0, 3, 1, 1}, {});
  b.floats("w", {2, 3, 1, 1}, {1, 2, 3, 4, 5, 6});
  b.floats("two", {}, {2});
  b.floats("short", {1}, {1});
  b.floats("scale", {2}, {1, 1});
  b.node("Conv", {"x", "none"}, {"empty"});
  b.node("Mul", {"empty", "two"}, {"y"});
  b.node("Conv", {"x", "w"}, {"c"});
  b.node("Mul", {"c", "two"}, {""});
  b.node("Conv", {"x", "w"}, {"d"});
  b.output("y");
  EXPECT_EQ(operators(simplified(b)), (std::vector<std::string>{"Conv", "Mul"}));
  b.node("BatchNormalization", {"d", "scale", "scale", "scale", "short"}, {"z"});
  b.output("z");
  EXPECT_THROW(simplified(b), Error);
}

// Weights are folded before shapes are known, so that all shapes share them.
TEST(FoldIntoWeights, HappensWithOpenDimensions) {
  OnnxBuilder b;
  b.symbolic_input("x", {"n", "c", "h", "w"});
  b.floats("w", {2, 3, 1, 1}, {1, 2, 3, 4, 5, 6});
  b.floats("two", {2, 1, 1}, {2, 3});
  b.node("Conv", {"x", "w"}, {"c"});
  b.node("Mul", {"c", "two"}, {"y"});
  b.output("y");
  EXPECT_EQ(operators(simplified(b)), std::vector<std::string>{"Conv"});
}

TEST(Import, NodesMayComeInAnyOrder) {
  OnnxBuilder b;
  b.input("x", {2});
  b.node("Neg", {"a"}, {"y"});
  b.node("Exp", {"x"}, {"a"});
  b.output("y");
  EXPECT_EQ(operators(b.parse()), (std::vector<std::string>{"Exp", "Neg"}));
}

TEST(Import, FunctionsAreReplacedByWhatIsInThem) {
  OnnxBuilder b;
  auto* function = b.model.add_functions();
  function->set_domain("mine");
  function->set_name("Twice");
  function->add_input("in");
  function->add_output("out");
  auto* version = function->add_opset_import();
  version->set_version(17);
  OnnxBuilder::add_node(*function->add_node(), "Add", {"in", "in"}, {"out"});
  b.input("x", {2});
  b.node("Twice", {"x"}, {"a"}).set_domain("mine");
  b.node("Twice", {"a"}, {"y"}).set_domain("mine");
  b.output("y");
  EXPECT_EQ(operators(b.parse()), (std::vector<std::string>{"Add", "Add"}));
  EXPECT_EQ(run(b, {{"x", Tensor::of<float>({1, 2}, {2})}}), (std::vector<double>{4, 8}));
  const std::string bytes = b.bytes();
  const auto model = LoadedModel::from_bytes(std::as_bytes(std::span(bytes)), {}, host_backend());
  EXPECT_EQ(model.outputs()[0].name, "y");
}

// if (condition) y = x + outer else y = x - outer, where the branches see outer values.
TEST(Import, LongChainsOfFunctionsAreRefused) {
  OnnxBuilder b;
  for (int i = 0; i < 20000; ++i) {
    auto* function = b.model.add_functions();
    function->set_domain("mine");
    function->set_name("f" + std::to_string(i));
    function->add_input("in");
    function->add_output("out");
    function->add_opset_import()->set_version(17);
    auto& node =
        OnnxBuilder::add_node(*function->add_node(), "f" + std::to_string(i + 1), {"in"}, {"out"});
    node.set_domain("mine");
  }
  b.input("x", {2});
  b.node("f0", {"x"}, {"y"}).set_domain("mine");
  b.output("y");
  EXPECT_THROW(b.parse(), Error);
}

TEST(Import, BodiesSeeOuterValues) {
  OnnxBuilder b;
  b.input("condition", {}, 9);
  b.input("x", {2});
  b.floats("one", {}, {1});
  b.node("Exp", {"x"}, {"e"});
  auto& node = b.node("If", {"condition"}, {"y"});
  for (const std::string branch : {"then_branch", "else_branch"}) {
    auto* attribute = node.add_attribute();
    attribute->set_name(branch);
    attribute->set_type(5);
    auto* body = attribute->mutable_g();
    body->set_name(branch);
    OnnxBuilder::add_node(*body->add_node(), branch == "then_branch" ? "Add" : "Sub", {"e", "one"},
                          {"result"});
    body->add_output()->set_name("result");
  }
  b.output("y");
  const Value x = Tensor::of<float>({0, 0}, {2});
  EXPECT_EQ(run(b, {{"condition", Tensor::scalar(true)}, {"x", x}}), (std::vector<double>{2, 2}));
  EXPECT_EQ(run(b, {{"condition", Tensor::scalar(false)}, {"x", x}}), (std::vector<double>{0, 0}));
}

TEST(Model, SymbolsMustAgreeAcrossInputs) {
  OnnxBuilder b;
  b.symbolic_input("x", {"n"});
  b.symbolic_input("y", {"n"});
  b.node("Add", {"x", "y"}, {"z"});
  b.output("z");
  EXPECT_EQ(run(b, {{"x", counting({3})}, {"y", counting({3})}}).size(), 3u);
  EXPECT_THROW(run(b, {{"x", counting({3})}, {"y", counting({1})}}), Error);
  EXPECT_THROW(run(b, {{"x", counting({3})}, {"y", counting({3})}}, {{{"x", {4}}}, 1}), Error);
}

TEST(Model, ManyShapesInTurn) {
  OnnxBuilder b;
  b.symbolic_input("x", {"n"});
  b.node("Neg", {"x"}, {"y"});
  b.output("y");
  const std::string bytes = b.bytes();
  const auto model = LoadedModel::from_bytes(std::as_bytes(std::span(bytes)), {}, host_backend());
  for (int round = 0; round < 2; ++round) {
    for (int64_t n = 1; n < 40; ++n) {
      const Tensor x = counting({n});
      std::vector<double> expected = x.to_doubles();
      for (double& value : expected) value = -value;
      EXPECT_EQ(model.run({{"x", x}})[0].tensor().to_doubles(), expected);
    }
  }
}

}  // namespace
}  // namespace aoe

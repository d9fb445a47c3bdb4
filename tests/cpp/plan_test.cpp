#include <gtest/gtest.h>

#include "expr/evaluate.h"
#include "expr/parse.h"
#include "graph/simplify.h"
#include "plan/epilogue.h"
#include "plan/plan.h"
#include "tests/cpp/onnx_builder.h"

namespace aoe {
namespace {

// A task whose workload reads the graph values `inputs`, in order, and writes `output`.
Task task(const char* text, std::vector<int> inputs, int output) {
  return {parse_workload(text), std::move(inputs), {output}};
}

const char* const kConvolution =
    "in %0 f32[2,6,9]\n"
    "in %1 f32[2,2,3,3]\n"
    "view %2 f32[2,2,3,9] = %0\n"
    "view %4 f32[2,4,7] = %3\n"
    "%3 f32[2,2,2,7] = sum(r:3,s:3) %2[a, b, r, d + s] * %1[b, c, r, s]\n"
    "out %4\n";

void expect_same_results(const Task& first, const Task& second, const Task& whole) {
  const auto filled = [](const TensorType& type, int seed) {
    Tensor tensor(type);
    for (int64_t i = 0; i < tensor.count(); ++i) {
      tensor.data<float>()[i] = static_cast<float>((i * 37 + seed * 11) % 23) - 11;
    }
    return tensor;
  };
  const auto tensors = [&](const Task& given, const Tensor* made) {
    std::vector<Tensor> result;
    for (size_t i = 0; i < given.inputs.size(); ++i) {
      const auto value = static_cast<size_t>(given.workload.inputs[i]);
      if (made != nullptr && given.inputs[i] == first.outputs[0]) result.push_back(*made);
      else result.push_back(filled(given.workload.values[value].type, given.inputs[i]));
    }
    return result;
  };
  const auto run = [](const Task& given, const std::vector<Tensor>& inputs) {
    return Evaluator(std::make_shared<const Workload>(given.workload)).run(inputs, 1)[0];
  };
  const Tensor made = run(first, tensors(first, nullptr));
  const Tensor expected = run(second, tensors(second, &made));
  const Tensor found = run(whole, tensors(whole, nullptr));
  EXPECT_EQ(found.type(), expected.type());
  EXPECT_EQ(found.to_doubles(), expected.to_doubles());
}

TEST(Tasks, AreComposedOfOnesThatTakeAValueTwice) {
  const Task first = task("in %0 f32[5]\n%1 f32[5] = exp(%0[a] / 8)\nout %1\n", {7}, 2);
  const Task second = task(
      "in %0 f32[5]\nin %1 f32[5]\nin %2 f32[5]\n%3 f32[5] = (%0[a] * %1[a]) - %2[a]\nout %3\n",
      {8, 8, 2}, 9);
  const Task whole = composed(first, second);
  EXPECT_EQ(whole.inputs, (std::vector<int>{7, 8}));
  expect_same_results(first, second, whole);
}

TEST(Epilogue, IsBiasActivationAndResidual) {
  const Task first = task(kConvolution, {0, 1}, 2);
  const Task second = task(
      "in %0 f32[2,4,7]\nin %1 f32[4,1]\nin %2 f32[2,4,7]\n"
      "%3 f32[2,4,7] = %0[a, b, c] + %1[b, 0]\n"
      "%4 f32[2,4,7] = %3[a, b, c] * exp(%3[a, b, c] / 32)\n"
      "%5 f32[2,4,7] = max(%4[a, b, c] + %2[a, b, c], 0)\n"
      "out %5\n",
      {2, 3, 4}, 5);
  const auto whole = with_epilogue(first, second);
  ASSERT_TRUE(whole);
  EXPECT_EQ(whole->workload.stages.size(), 1);
  EXPECT_EQ(whole->inputs, (std::vector<int>{0, 1, 3, 4}));
  EXPECT_EQ(whole->outputs, std::vector<int>{5});
  verify(whole->workload);
  const std::string text = to_string(whole->workload);
  EXPECT_EQ(to_string(parse_workload(text)), text);
  expect_same_results(first, second, *whole);
}

TEST(Epilogue, IsNotWhatMeetsSumsElsewhere) {
  const Task first = task(kConvolution, {0, 1}, 2);
  for (const char* text : {
           // Reads a neighbour, another order, two elements, more points than there are sums, and a
           // lookup.
           "in %0 f32[2,4,7]\n%1 f32[2,4,6] = %0[a, b, c + 1]\nout %1\n",
           "in %0 f32[2,4,7]\n%1 f32[7,4,2] = %0[c, b, a]\nout %1\n",
           "in %0 f32[2,4,7]\n%1 f32[2,4,7] = %0[a, b, c] + %0[a, b, 6 - c]\nout %1\n",
           "in %0 f32[2,4,7]\n%1 f32[3,2,4,7] = %0[b, c, d]\nout %1\n",
           "in %0 f32[2,4,7]\nin %1 i64[7]\n%2 f32[2,4,7] = %0[a, b, %1[c]]\nout %2\n",
       }) {
    SCOPED_TRACE(text);
    const bool two = std::string(text).find("in %1") != std::string::npos;
    EXPECT_FALSE(with_epilogue(first, task(text, two ? std::vector{2, 3} : std::vector{2}, 5)));
  }
}

Graph simplified(const OnnxBuilder& builder) {
  Graph graph = builder.parse();
  simplify(graph);
  return graph;
}

// A convolution with its epilogue, a host kernel, and a late node.
OnnxBuilder of_every_kind() {
  OnnxBuilder b;
  b.input("x", {1, 1, 4});
  b.floats("w", {2, 1, 3}, {1, 2, 3, 4, 5, 6});
  b.node("Conv", {"x", "w"}, {"sums"});
  b.node("Mul", {"sums", "sums"}, {"squares"});
  b.node("Relu", {"squares"}, {"y"});
  b.node("NonZero", {"y"}, {"places"});
  b.node("Neg", {"places"}, {"z"});
  b.output("y");
  b.output("z");
  return b;
}

TEST(Plans, PrintAsStepsWithTheirValues) {
  Graph graph = simplified(of_every_kind());
  EXPECT_EQ(to_string(plan_of(graph, Device{}), graph),
            "Conv 'Conv_sums', Mul 'Mul_squares', Relu 'Relu_y': 60670c8ca600f8b5\n"
            "  in %x float32[1, 1, 4] input 0\n"
            "  in %w float32[2, 1, 3] constant\n"
            "  out %y float32[1, 2, 2] apart\n"
            "NonZero 'NonZero_places': on the host\n"
            "  in %y float32[1, 2, 2] apart\n"
            "  out %places int64[?] apart\n"
            "Neg 'Neg_z': late\n"
            "  in %places int64[?] apart\n"
            "  out %z ?[?] apart\n");
  EXPECT_EQ(plan_of(graph, {}).steps.size(), 5);
}

TEST(Plans, FreeAValueAfterItsLastUse) {
  OnnxBuilder b;
  b.input("x", {4});
  b.node("Softmax", {"x"}, {"a"});
  b.node("Softmax", {"a"}, {"c"});
  b.node("Add", {"a", "c"}, {"d"});
  b.node("Softmax", {"d"}, {"y"});
  b.output("y");
  Graph graph = simplified(b);
  std::vector<std::vector<std::string>> freed;
  for (const PlanStep& step : plan_of(graph, {}).steps) {
    freed.emplace_back();
    for (const int id : step.last_uses) freed.back().push_back(graph.value(id).name);
  }
  using Names = std::vector<std::string>;
  EXPECT_EQ(freed, (std::vector<Names>{{"x"}, {}, {"a", "c"}, {"d"}}));
}

// `v` is an input of `a` twice and of three nodes: fusion must not drop it.
TEST(Plans, KeepWhatOthersUse) {
  OnnxBuilder b;
  b.input("x", {4});
  b.node("Relu", {"x"}, {"v"});
  b.node("Mul", {"v", "v"}, {"a"});
  b.node("Add", {"a", "v"}, {"y"});
  b.node("Exp", {"v"}, {"z"});
  b.output("y");
  b.output("z");
  Graph graph = simplified(b);
  std::vector<std::vector<int>> nodes;
  for (const PlanStep& step : plan_of(graph, Device{}).steps) nodes.push_back(step.nodes);
  EXPECT_EQ(nodes, (std::vector<std::vector<int>>{{0}, {1, 2}, {3}}));
}

}  // namespace
}  // namespace aoe

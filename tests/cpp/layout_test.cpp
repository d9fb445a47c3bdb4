#include "plan/layout.h"

#include <gtest/gtest.h>

#include <cmath>

#include "backend/kernel.h"
#include "codegen/cpu_backend.h"
#include "expr/evaluate.h"
#include "expr/parse.h"
#include "graph/simplify.h"
#include "plan/plan.h"
#include "policy/contraction.h"
#include "tests/cpp/small_networks.h"

namespace aoe {
namespace {

Tensor filled(const TensorType& type, int seed) {
  Tensor tensor(type);
  for (int64_t i = 0; i < tensor.count(); ++i) {
    tensor.data<float>()[i] = static_cast<float>((i * 37 + seed * 11) % 23) - 11;
  }
  return tensor;
}

// Returns the elements of a tensor in the order of a layout.
Tensor in_layout(const Tensor& tensor, const Layout& layout) {
  const Shape& shape = tensor.shape();
  Shape lies;
  for (const size_t d : layout.order) {
    lies.push_back(shape[d] / (d == layout.blocked ? layout.block : 1));
  }
  if (layout.block > 1) lies.push_back(layout.block);
  Tensor result(TensorType{tensor.dtype(), lies});
  const Shape from = row_major_strides(shape);
  const Shape to = row_major_strides(lies);
  for (int64_t i = 0; i < tensor.count(); ++i) {
    int64_t at = 0;
    for (size_t p = 0; p < layout.order.size(); ++p) {
      const size_t d = layout.order[p];
      const int64_t position = i / from[d] % shape[d];
      const bool blocked = d == layout.blocked && layout.block > 1;
      at += (blocked ? position / layout.block : position) * to[p];
      if (blocked) at += position % layout.block;
    }
    result.data<float>()[at] = tensor.data<float>()[i];
  }
  return result;
}

std::vector<Tensor> evaluated(const Workload& workload, const std::vector<Tensor>& inputs) {
  return Evaluator(std::make_shared<const Workload>(workload)).run(inputs, 1);
}

struct Case {
  const char* name;
  const char* text;
  std::vector<size_t> moved;  // inputs in another layout; the output has one too
};

// Outputs are blocked by 8, and so are the inputs in `moved`.
const std::vector<Case> kCases{
    {"Convolution",
     "in %0 f32[1,16,6,7]\nweight %1 f32[24,16,3,3]\nweight %2 f32[24]\n"
     "%3 f32[1,24,6,7] = sum(r:16,s:3,t:3) %0[a, r, (c + s) - 1, (d + t) - 1]?0 * %1[b, r, s, t]"
     " -> max($0 + %2[b], 0)\nout %3\n",
     {0}},
    {"DepthwiseConvolution",
     "in %0 f32[1,16,6,7]\nweight %1 f32[16,3,3]\n"
     "%2 f32[1,16,4,5] = sum(r:3,s:3) %0[a, b, c + r, d + s] * %1[b, r, s]\nout %2\n",
     {0}},
    {"GroupedConvolution",
     "in %0 f32[2,32,9]\nweight %1 f32[2,8,16,3]\nview %2 f32[2,2,16,9] = %0\n"
     "view %4 f32[2,16,7] = %3\n"
     "%3 f32[2,2,8,7] = sum(r:16,s:3) %2[a, b, r, d + s] * %1[b, c, r, s]\nout %4\n",
     {0}},
    {"Pooling",
     "in %0 f32[2,16,6,6]\n"
     "%1 f32[2,16,3,3] = max(r:3,s:3) %0[a, b, ((c * 2) + r) - 1, ((d * 2) + s) - 1]?-100\n"
     "out %1\n",
     {0}},
    {"BroadcastElementwise",
     "in %0 f32[2,16,3,5]\nweight %1 f32[16,1,1]\n"
     "%2 f32[2,16,3,5] = exp(%0[a, b, c, d] / 16) * %1[b, 0, 0]\nout %2\n",
     {0}},
    {"ResidualAdd",
     "in %0 f32[1,24,4,4]\nin %1 f32[1,24,4,4]\n"
     "%2 f32[1,24,4,4] = max(%0[a, b, c, d] + %1[a, b, c, d], 0)\nout %2\n",
     {0, 1}},
    {"ConcatOfChannels",
     "in %0 f32[1,16,3,3]\nin %1 f32[1,8,3,3]\n"
     "%2 f32[1,24,3,3] = select(b < 16, %0[a, b, c, d], %1[a, b - 16, c, d])\nout %2\n",
     {0, 1}},
    {"GlobalMean",
     "in %0 f32[1,16,4,4]\n"
     "%1 f32[1,16,1,1] = sum(r:4,s:4) %0[a, b, r, s] -> $0 / 16\nout %1\n",
     {0}},
    {"TwoStages",
     "in %0 f32[1,16,4,4]\n"
     "%1 f32[1,16,1,1] = sum(r:4,s:4) %0[a, b, r, s] -> $0 / 16\n"
     "%2 f32[1,16,4,4] = %0[a, b, c, d] * %1[a, b, 0, 0]\nout %2\n",
     {0}},
};

Task task_of(const char* text) {
  Task task{parse_workload(text), {}, {100}};
  for (size_t i = 0; i < task.workload.inputs.size(); ++i)
    task.inputs.push_back(static_cast<int>(i));
  return task;
}

class Layouts : public testing::TestWithParam<Case> {};

TEST_P(Layouts, OfBlocksChangeNothingButWhereElementsLie) {
  const Task task = task_of(GetParam().text);
  const Workload& plain = task.workload;
  std::vector<Tensor> inputs;
  for (const int value : plain.inputs) {
    inputs.push_back(filled(plain.values[static_cast<size_t>(value)].type, value));
  }
  const Tensor expected = evaluated(plain, inputs)[0];
  const auto lies = [](const Tensor& tensor) { return channels_blocked(tensor.shape().size(), 8); };
  // The inputs alone, the output alone, and all.
  for (const int which : {1, 2, 3}) {
    Task moved = task;
    std::vector<Tensor> given = inputs;
    for (const size_t i : GetParam().moved) {
      if ((which & 1) == 0) continue;
      auto next = with_layout(moved, task.inputs[i], lies(inputs[i]));
      ASSERT_TRUE(next) << which;
      moved = std::move(*next);
      given[i] = in_layout(inputs[i], lies(inputs[i]));
    }
    if ((which & 2) != 0) {
      auto next = with_layout(moved, 100, lies(expected));
      ASSERT_TRUE(next) << which;
      moved = std::move(*next);
    }
    SCOPED_TRACE(to_string(moved.workload));
    verify(moved.workload);
    EXPECT_EQ(to_string(parse_workload(to_string(moved.workload))), to_string(moved.workload));
    const Tensor wanted = (which & 2) != 0 ? in_layout(expected, lies(expected)) : expected;
    const Tensor found = evaluated(moved.workload, given)[0];
    EXPECT_EQ(found.type(), wanted.type());
    EXPECT_EQ(found.to_doubles(), wanted.to_doubles());
    std::vector<Tensor> weights = given;
    for (size_t i = 0; i < weights.size(); ++i) {
      const auto value = static_cast<size_t>(moved.workload.inputs[i]);
      if (!moved.workload.values[value].weight) weights[i] = {};
    }
    const Kernel kernel(std::make_shared<const Workload>(moved.workload), *host_backend(), 1,
                        weights);
    const std::vector<double> compiled = kernel.run(given)[0].to_doubles();
    for (size_t i = 0; i < compiled.size(); ++i) {
      const double exact = wanted.to_doubles()[i];
      ASSERT_NEAR(compiled[i], exact, 1e-4 * (1 + std::fabs(exact))) << i;
    }
    // A convolution must remain a contraction in any layout.
    if (std::string_view(GetParam().name) == "Convolution") {
      EXPECT_TRUE(contraction_of(moved.workload.stages[0]));
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, Layouts, testing::ValuesIn(kCases),
                         [](const auto& param) { return param.param.name; });

TEST(Layouts, WithoutWholeBlocksAreRefused) {
  const Task uneven = task_of(
      "in %0 f32[1,16,3,3]\nin %1 f32[1,4,3,3]\n"
      "%2 f32[1,24,3,3] = select(b < 4, %1[a, b, c, d], %0[a, min(b - 4, 15), c, d])\nout %2\n");
  EXPECT_FALSE(with_layout(uneven, 0, channels_blocked(4, 8)));
  EXPECT_FALSE(with_layout(uneven, 1, channels_blocked(4, 8)));
  const Task odd = task_of("in %0 f32[1,12,3]\n%1 f32[1,12,3] = 0 - %0[a, b, c]\nout %1\n");
  EXPECT_FALSE(with_layout(odd, 0, channels_blocked(3, 8)));
  EXPECT_FALSE(with_layout(odd, 100, channels_blocked(3, 8)));
}

TEST(Layouts, HaveNames) {
  EXPECT_EQ(to_string(channels_first(4)), "NCHW");
  EXPECT_EQ(to_string(channels_last(5)), "NDHWC");
  EXPECT_EQ(to_string(channels_blocked(3, 16)), "NCW16c");
}

// Returns the layouts that a cost function leads to.
std::map<std::string, std::string> layouts_by(const TaskCost& cost) {
  const Graph graph = two_convolutions();
  Plan plan = lower_nodes(graph);
  choose_layouts(plan, graph, cost);
  std::map<std::string, std::string> layouts;
  for (const auto& [id, layout] : plan.layouts) {
    layouts[graph.value(id).name] = to_string(layout);
  }
  return layouts;
}

// Cost: one second per task, `otherwise` for a task that has a value of this shape.
TaskCost unless(const Shape& shape, double otherwise) {
  return [=](const Task& task) {
    for (const Workload::Value& value : task.workload.values) {
      if (value.type.shape == shape) return otherwise;
    }
    return 1.0;
  };
}

TEST(ChosenLayouts, StayWhereNothingIsGained) {
  using Names = std::map<std::string, std::string>;
  EXPECT_EQ(layouts_by([](const Task&) { return 1.0; }), Names{});
  // Every task gains, but less than the estimated cost of the conversions at both ends.
  EXPECT_EQ(layouts_by(unless({1, 6, 6, 32}, 0.95)), Names{});
}

TEST(ChosenLayouts, AreThoseOfTheLeastCost) {
  using Names = std::map<std::string, std::string>;
  const Shape last{1, 6, 6, 32};
  const Shape blocked{1, 2, 6, 6, 16};
  EXPECT_EQ(layouts_by(unless(last, 0.5)),
            (Names{{"a", "NHWC"}, {"b", "NHWC"}, {"c", "NHWC"}, {"d", "NHWC"}}));
  EXPECT_EQ(layouts_by(unless(blocked, 0.5)),
            (Names{{"a", "NCHW16c"}, {"b", "NCHW16c"}, {"c", "NCHW16c"}, {"d", "NCHW16c"}}));
}

TEST(ChosenLayouts, CostNoMoreThanLeavingAllAsItIs) {
  const Graph graph = two_convolutions();
  const Plan plain = lower_nodes(graph);
  for (const Feature set : kVectorFeatures) {
    Device device;
    device.vector_bytes = vector_bytes(set);
    device.vector_registers = vector_registers(set);
    const TaskCost cost = estimated_cost(device);
    Plan chosen = plain;
    choose_layouts(chosen, graph, cost);
    const auto total = [&](const Plan& plan) {
      double seconds = 0;
      for (const PlanStep& step : plan.steps) seconds += cost(step.task);
      return seconds;
    };
    EXPECT_LE(total(chosen), total(plain)) << name(set);
  }
}

// Plans a chain of convolutions whose values are all visible to the caller; returns one line per
// step.
std::vector<std::string> plan_of_row(int64_t channels, int64_t side, int64_t group = 1,
                                     int layers = 1) {
  OnnxBuilder b;
  b.input("x", {1, channels, side, side});
  const auto count = static_cast<size_t>(channels * channels / group * 9);
  b.floats("w", {channels, channels / group, 3, 3}, std::vector<float>(count, 0.5F));
  std::string last = "x";
  for (int layer = 0; layer < layers; ++layer) {
    const std::string next = layer == 0 ? "y" : "z";
    auto* attribute = b.node("Conv", {last, "w"}, {next}).add_attribute();
    attribute->set_name("group");
    attribute->set_type(2);
    attribute->set_i(group);
    b.output(next);
    last = next;
  }
  Graph graph = b.parse();
  simplify(graph);
  Device device;
  device.vector_bytes = vector_bytes(Feature::avx2);
  device.vector_registers = vector_registers(Feature::avx2);
  const Plan plan = plan_of(graph, device);
  std::vector<std::string> lines;
  for (const PlanStep& step : plan.steps) {
    const auto text = [&](int id) {
      const auto layout = plan.layouts.find(id);
      const bool seen =
          id == graph.inputs[0] ||
          std::find(graph.outputs.begin(), graph.outputs.end(), id) != graph.outputs.end();
      return fmt::format("{}{}", seen ? graph.value(id).name : "own",
                         layout == plan.layouts.end() ? "" : " " + to_string(layout->second));
    };
    lines.push_back(fmt::format("{} -> {}", text(step.task.inputs[0]), text(step.task.outputs[0])));
  }
  return lines;
}

TEST(ChosenLayouts, AreConvertedToAtTheBordersWhereThatPays) {
  EXPECT_EQ(plan_of_row(64, 56),
            (std::vector<std::string>{"x -> own NHWC", "own NHWC -> own NHWC", "own NHWC -> y"}));
  EXPECT_EQ(plan_of_row(64, 56, 64), std::vector<std::string>{"x -> y"});
  // Here the copies would cost as much as they gain.
  EXPECT_EQ(plan_of_row(1, 9), std::vector<std::string>{"x -> y"});
  // A converted value is not converted back for the next convolution.
  EXPECT_EQ(plan_of_row(64, 56, 1, 2),
            (std::vector<std::string>{"x -> own NHWC", "own NHWC -> own NHWC", "own NHWC -> y",
                                      "own NHWC -> own NHWC", "own NHWC -> z"}));
}

}  // namespace
}  // namespace aoe

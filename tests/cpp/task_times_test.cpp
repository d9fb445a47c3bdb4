#include "plan/task_times.h"

#include <gtest/gtest.h>

#include <set>

#include "plan/plan.h"
#include "policy/estimate.h"
#include "tests/cpp/error_message.h"
#include "tests/cpp/small_networks.h"

namespace aoe {
namespace {

using Names = std::map<std::string, std::string>;

Device some_device() {
  Device device;
  device.vector_bytes = vector_bytes(Feature::avx2);
  device.vector_registers = vector_registers(Feature::avx2);
  return device;
}

bool has_shape(const Workload& workload, const Shape& shape) {
  return std::any_of(workload.values.begin(), workload.values.end(),
                     [&](const Workload::Value& value) { return value.type.shape == shape; });
}

// Times: 1 us per convolution, `otherwise` ns if it has a value of this shape, 100 ns per copy.
TaskTimes times_unless(const Shape& shape, double otherwise) {
  std::vector<std::pair<Workload, double>> measured;
  for (const LayoutTask& task : layout_tasks(two_convolutions(), some_device())) {
    for (const Workload& way : task.variants) {
      const bool copies = !way.stages[0].reducer.has_value();
      measured.emplace_back(way, copies ? 100 : has_shape(way, shape) ? otherwise : 1000);
    }
  }
  return task_times(measured, some_device());
}

// Returns the layouts that the times lead to.
Names layouts_by(const TaskTimes& times) {
  Graph graph = two_convolutions();
  const Plan plan = plan_of(graph, some_device(), [&](const std::string&) {
    return measured_cost(some_device(), times);
  });
  Names names;
  for (const auto& [id, layout] : plan.layouts) names[graph.value(id).name] = to_string(layout);
  return names;
}

TEST(AskedTasks, HaveEveryWayOnceAndTheMostExpensiveFirst) {
  const std::vector<LayoutTask> asked = layout_tasks(two_convolutions(), some_device());
  std::set<std::string> texts;
  size_t ways = 0;
  for (size_t i = 0; i < asked.size(); ++i) {
    EXPECT_GE(asked[0].estimated_s, asked[i].estimated_s);
    for (const Workload& way : asked[i].variants) texts.insert(to_string(way));
    ways += asked[i].variants.size();
  }
  EXPECT_EQ(texts.size(), ways);
  // A convolution: input and output have three layouts each, but never two different non-default
  // ones.
  EXPECT_EQ(asked[0].variants.size(), 7u);
}

TEST(AskedTasks, AreNoneWithoutAlternativeLayouts) {
  OnnxBuilder b;
  b.input("x", {8, 8});
  b.node("Relu", {"x"}, {"y"});
  b.output("y");
  EXPECT_TRUE(layout_tasks(b.parse(), some_device()).empty());
}

TEST(MeasuredCost, DecidesOnLayouts) {
  EXPECT_EQ(layouts_by(times_unless({1, 6, 6, 32}, 1000)), Names{});
  for (const auto& [name, layout] : layouts_by(times_unless({1, 6, 6, 32}, 200))) {
    EXPECT_EQ(layout, "NHWC") << name;
  }
  EXPECT_FALSE(layouts_by(times_unless({1, 6, 6, 32}, 200)).empty());
  EXPECT_FALSE(layouts_by(times_unless({1, 2, 6, 6, 16}, 200)).empty());
  for (const auto& [name, layout] : layouts_by(times_unless({1, 2, 6, 6, 16}, 200))) {
    EXPECT_EQ(layout, "NCHW16c") << name;
  }
  // Every task gains, but less than the conversions at both ends cost.
  EXPECT_EQ(layouts_by(times_unless({1, 6, 6, 32}, 950)), Names{});
}

TEST(MeasuredCost, ScalesTheEstimateOfWhatWasNotMeasured) {
  const std::vector<LayoutTask> asked = layout_tasks(two_convolutions(), some_device());
  const auto estimated_ns = [](const Workload& workload) {
    return 1e9 * estimated_seconds(workload, some_device());
  };
  const Workload& convolution = asked[0].variants[0];
  const TaskTimes times = task_times({{convolution, 3 * estimated_ns(convolution)}}, some_device());
  EXPECT_DOUBLE_EQ(times.cube_ratio, 3);
  EXPECT_DOUBLE_EQ(times.vector_ratio, 3);  // scaled by the only measurement
  const Workload& other = asked[0].variants[1];
  const TaskCost cost = measured_cost(some_device(), times);
  EXPECT_DOUBLE_EQ(1e9 * cost({other, {}, {}}), 3 * estimated_ns(other));
  EXPECT_DOUBLE_EQ(1e9 * cost({convolution, {}, {}}), 3 * estimated_ns(convolution));
  EXPECT_EQ(task_times({}, some_device()), TaskTimes{});
}

TEST(TaskTimes, AreText) {
  const TaskTimes times{{{0x0123456789abcdef, 12345.5}, {1, 1.0 / 3}}, 1.5, 2};
  EXPECT_EQ(to_string(times),
            "cube 1.5\nvector 2\n0000000000000001 0.3333333333333333\n0123456789abcdef 12345.5\n");
  EXPECT_EQ(parse_task_times(to_string(times)), times);
  for (const char* text :
       {"", "cube 1\n", "vector 1\ncube 1\n", "cube 0\nvector 1\n", "cube inf\nvector 1\n",
        "cube 1\nvector 1\n0123456789abcdef\n", "cube 1\nvector 1\n0123456789abcdef -1\n",
        "cube 1\nvector 1\n123 4\n", "cube 1\nvector 1\n0123456789abcdeg 4\n"}) {
    EXPECT_NE(message_of([&] { parse_task_times(text); }), "no error") << text;
  }
}

TEST(GraphText, NamesWhatIsComputedWhateverItIsCalled) {
  const auto text_of = [](Graph graph) {
    std::string text;
    plan_of(graph, some_device(), [&](const std::string& found) {
      text = found;
      return TaskCost();
    });
    return text;
  };
  Graph renamed = two_convolutions();
  for (GraphValue& value : renamed.values) value.name += "'";
  EXPECT_EQ(text_of(renamed), text_of(two_convolutions()));
  EXPECT_TRUE(names_graph(text_of(renamed)));
  OnnxBuilder b;
  b.input("x", {8, 8});
  b.node("Relu", {"x"}, {"y"});
  b.output("y");
  EXPECT_NE(text_of(b.parse()), text_of(renamed));
  EXPECT_FALSE(names_graph("in %0 f32[8]\nout %0\n"));
}

}  // namespace
}  // namespace aoe

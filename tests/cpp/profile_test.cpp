#include "measure/host/profile.h"

#include <gtest/gtest.h>

#include <cmath>

#include "codegen/cpu_backend.h"
#include "graph/simplify.h"
#include "measure/host/peak_memory.h"
#include "measure/host/roofline.h"
#include "measure/worker/difference.h"
#include "plan/plan.h"
#include "runtime/loaded_model.h"
#include "tests/cpp/onnx_builder.h"

namespace aoe {
namespace {

// relu(x * w) and the positions of its non-zero elements: a fused kernel and a host kernel.
LoadedModel small_model(const std::string& kernels) {
  OnnxBuilder b;
  b.input("x", {4, 3});
  b.floats("w", {3, 2}, {1, -1, 2, -2, 3, -3});
  b.node("MatMul", {"x", "w"}, {"p"});
  b.node("Relu", {"p"}, {"r"}).clear_name();
  b.node("NonZero", {"r"}, {"y"});
  b.output("y");
  const std::string bytes = b.bytes();
  return LoadedModel::from_bytes(std::as_bytes(std::span(bytes)), {{}, 1, kernels}, host_backend());
}

WatchedRun runs_of(const LoadedModel& model) {
  return [&model](StepObserver* observer) {
    model.run({{"x", Tensor::zeros({DType::f32, {4, 3}})}}, observer);
  };
}

TEST(Profile, SaysWhatEachStepIs) {
  const LoadedModel model = small_model("");
  const Profile profile = profile_of(runs_of(model), 0);
  ASSERT_EQ(profile.steps.size(), 2u);
  EXPECT_EQ(profile.steps[0].nodes, (std::vector<std::string>{"MatMul_p (MatMul)", "Relu"}));
  EXPECT_EQ(profile.steps[0].kind, "kernel");
  EXPECT_EQ(profile.steps[0].operations, 2 * 4 * 2 * 3 + 4 * 2);
  EXPECT_EQ(profile.steps[0].bytes, 4 * (4 * 3 + 3 * 2 + 4 * 2));
  EXPECT_EQ(profile.steps[1].nodes, (std::vector<std::string>{"NonZero_y (NonZero)"}));
  EXPECT_EQ(profile.steps[1].kind, "host");
  EXPECT_EQ(profile.runs, 8);
  EXPECT_EQ(operations_in(runs_of(model)), 2 * 4 * 2 * 3 + 4 * 2);

  const LoadedModel plain = small_model("reference");
  const Profile reference = profile_of(runs_of(plain), 0);
  ASSERT_EQ(reference.steps.size(), 3u);  // nothing is fused
  EXPECT_EQ(reference.steps[0].kind, "reference");
  EXPECT_EQ(reference.steps[1].nodes, (std::vector<std::string>{"Relu"}));
}

TEST(Profile, TimesStepsAndWhatIsBetweenThem) {
  double now_ns = 0;
  int run = 0;
  const Workload nothing;
  const auto pass = [&](StepObserver* observer) {
    ++run;
    now_ns += 5;  // before the first step
    for (size_t i = 0; i < 3; ++i) {
      if (observer != nullptr) observer->step_begins();
      now_ns += 100.0 * static_cast<double>(i + 1) + (run == 4 ? 1e6 : 0);  // once a hiccup
      if (observer != nullptr) observer->step_ended({i, {}, &nothing, true});
      now_ns += 10;
    }
  };
  const Profile profile = profile_of(pass, 20 * 635e-9, [&] { return now_ns; });
  EXPECT_EQ(profile.total_ns, 635);
  EXPECT_EQ(profile.between_ns, 35);
  ASSERT_EQ(profile.steps.size(), 3u);
  for (size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(profile.steps[i].median_ns, 100.0 * static_cast<double>(i + 1));
  }
}

TEST(Profile, MarksStepsThatChangeTheLayout) {
  OnnxBuilder b;
  b.input("x", {1, 16, 8, 8});
  b.floats("w", {32, 16, 3, 3}, std::vector<float>(32 * 16 * 9, 0.5F));
  b.floats("v", {32, 32, 3, 3}, std::vector<float>(32 * 32 * 9, 0.5F));
  b.node("Conv", {"x", "w"}, {"a"});
  b.node("Conv", {"a", "v"}, {"b"});
  b.node("GlobalMaxPool", {"b"}, {"d"});
  b.node("Neg", {"b"}, {"c"});
  b.output("c");
  b.output("d");
  Graph graph = b.parse();
  simplify(graph);
  Plan plan = lower_nodes(graph);
  choose_layouts(plan, graph, estimated_cost(Device{}));
  std::vector<bool> changes;
  for (const PlanStep& step : plan.steps) changes.push_back(step.changes_layout);
  // From the caller's layout, none (a plane of one point has the same order in both), back again.
  EXPECT_EQ(changes, (std::vector<bool>{true, false, false, true}));
}

TEST(Roofline, IsWhatTheMachineNeedsLongerFor) {
  const Rates rates{100, 10};  // ten operations a byte
  const Roofline dense = roofline_of(1000, 10, 20, rates);
  EXPECT_TRUE(dense.by_operations);
  EXPECT_DOUBLE_EQ(dense.rate, 50);
  EXPECT_DOUBLE_EQ(dense.share, 0.5);
  const Roofline moving = roofline_of(1000, 200, 25, rates);
  EXPECT_FALSE(moving.by_operations);
  EXPECT_DOUBLE_EQ(moving.rate, 8);
  EXPECT_DOUBLE_EQ(moving.share, 0.8);
}

TEST(Difference, IsTheLargestBetweenElements) {
  const auto tensor = [](const std::vector<float>& elements) {
    const auto count = static_cast<int64_t>(elements.size());
    return Tensor::of(elements, {count});
  };
  const Difference found =
      difference_of({tensor({1, 2, NAN}), tensor({-8})}, {tensor({1, 2.5, NAN}), tensor({-8.25})});
  EXPECT_EQ(found.largest, 0.5);
  EXPECT_EQ(found.of, 8.25);
  EXPECT_EQ(difference_of({tensor({NAN})}, {tensor({1})}).largest, INFINITY);
  EXPECT_EQ(difference_of({tensor({INFINITY})}, {tensor({INFINITY})}).largest, 0);
}

TEST(Memory, ThePeakHoldsWhatWasTouched) {
  const Tensor zeros = Tensor::zeros({DType::u8, {64 << 20}});
  EXPECT_GE(peak_memory_bytes(), zeros.bytes());
}

}  // namespace
}  // namespace aoe

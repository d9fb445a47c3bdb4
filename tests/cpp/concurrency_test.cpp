#include <gtest/gtest.h>

#include <thread>

#include "tests/cpp/count_allocations.h"
#include "tests/cpp/small_networks.h"

namespace aoe {
namespace {

std::string bits_of_a_call(const LoadedModel& model, int seed) {
  const CallMemory memory(model, seed);
  model.run_into(memory.inputs(), memory.outputs());
  return memory.bits();
}

TEST(Runs, GiveTheSameBitsEveryTime) {
  for (const int threads : {1, 2}) {
    for (const auto& builder : {small_convolutional_network(), small_attention_network()}) {
      const LoadedModel model = loaded(builder, {.threads = threads});
      const std::string first = bits_of_a_call(model, 1);
      EXPECT_NE(first, std::string(first.size(), '\0'));
      EXPECT_NE(first, bits_of_a_call(model, 2));
      for (int again = 0; again < 3; ++again) EXPECT_EQ(bits_of_a_call(model, 1), first);
      const LoadedModel other = loaded(builder, {.threads = threads});
      EXPECT_EQ(bits_of_a_call(other, 1), first);
    }
  }
}

TEST(Runs, AgreeWithTheReference) {
  for (const auto& builder : {small_convolutional_network(), small_attention_network()}) {
    const LoadedModel model = loaded(builder);
    const LoadedModel reference = loaded(builder, {.kernels = "reference"});
    const CallMemory found(model, 3);
    const CallMemory expected(reference, 3);
    model.run_into(found.inputs(), found.outputs());
    reference.run_into(expected.inputs(), expected.outputs());
    for (size_t i = 0; i < found.outputs().size(); ++i) {
      const auto* const a = static_cast<const float*>(found.outputs()[i].elements);
      const auto* const b = static_cast<const float*>(expected.outputs()[i].elements);
      for (int64_t k = 0; k < found.outputs()[i].count(); ++k) ASSERT_NEAR(a[k], b[k], 1e-4);
    }
  }
}

TEST(Runs, AllocateNothingOnceTheyHaveRun) {
  if (!counts_allocations()) GTEST_SKIP() << "a sanitizer has an allocator of its own";
  for (const int threads : {1, 2}) {
    for (const auto& builder : {small_convolutional_network(), small_attention_network()}) {
      const LoadedModel model = loaded(builder, {.threads = threads});
      const CallMemory memory(model);
      model.run_into(memory.inputs(), memory.outputs());
      const int64_t before = allocations();
      EXPECT_GT(before, 0);
      model.run_into(memory.inputs(), memory.outputs());
      EXPECT_EQ(allocations() - before, 0) << threads << " threads";
    }
  }
}

TEST(Runs, MayGoOnAtOnceInOneModel) {
  const LoadedModel model = loaded(small_convolutional_network(), {.threads = 2});
  constexpr int kCallers = 4;
  std::vector<std::string> expected;
  for (int caller = 0; caller < kCallers; ++caller) {
    expected.push_back(bits_of_a_call(model, caller));
  }
  std::vector<std::jthread> callers;
  for (int caller = 0; caller < kCallers; ++caller) {
    callers.emplace_back([&, caller] {
      for (int again = 0; again < 8; ++again) {
        EXPECT_EQ(bits_of_a_call(model, caller), expected[static_cast<size_t>(caller)]);
      }
    });
  }
}

TEST(Runs, MayGoOnAtOnceInSeveralModels) {
  std::vector<std::jthread> callers;
  for (int caller = 0; caller < 4; ++caller) {
    callers.emplace_back([caller] {
      // Loaded at once too: the compiler is shared.
      const LoadedModel model =
          loaded(caller % 2 == 0 ? small_convolutional_network() : small_attention_network(),
                 {.threads = 1 + caller / 2});
      const std::string expected = bits_of_a_call(model, caller);
      for (int again = 0; again < 8; ++again) EXPECT_EQ(bits_of_a_call(model, caller), expected);
    });
  }
}

TEST(Runs, MayGoOnAtOnceWithShapesOfTheirOwn) {
  OnnxBuilder b;
  b.symbolic_input("x", {"rows", "columns"});
  b.node("Softmax", {"x"}, {"a"});
  b.node("Add", {"a", "x"}, {"sum"});
  b.node("Softmax", {"sum"}, {"y"});
  b.output("y");
  const LoadedModel model = loaded(b, {.threads = 2});
  std::vector<std::jthread> callers;
  for (int caller = 0; caller < 4; ++caller) {
    callers.emplace_back([&, caller] {
      for (int64_t again = 0; again < 20; ++again) {
        const Shape shape{1 + (again + caller) % 5, 64};
        std::vector<float> x(static_cast<size_t>(element_count(shape)), 1.0f);
        std::vector<float> y(x.size());
        model.run_into({{{DType::f32, shape, x.data()}}}, {{{DType::f32, shape, y.data()}}});
        for (const float number : y) ASSERT_NEAR(number, 1.0 / 64, 1e-6);
      }
    });
  }
}

}  // namespace
}  // namespace aoe

#include "measure/worker/numeric_check.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <random>

#include "codegen/cpu_backend.h"
#include "expr/parse.h"
#include "measure/host/guarded_memory.h"
#include "measure/worker/exact_sums.h"

namespace aoe {
namespace {

Tensor floats(const std::vector<float>& elements) {
  return Tensor::of(elements, {static_cast<int64_t>(elements.size())});
}

// What is computed in a narrow type and then widened has the errors of the narrow one.
TEST(Tolerance, FollowsTheNarrowestTypeOnTheWay) {
  const auto of = [](const std::string& stages) {
    return tolerances_of(parse_workload("in %0 f32[8,64]\n" + stages));
  };
  EXPECT_EQ(of("%1 f64[8] = sum(r:64) %0[a, r] -> f64($0)\nout %1\n"), std::vector{1e-4});
  EXPECT_EQ(of("%1 f64[8] = sum(r:64) f64(%0[a, r])\nout %1\n"), std::vector{1e-9});
  EXPECT_EQ(of("%1 f32[8] = sum(r:64) %0[a, r]\n%2 f64[8] = f64(%1[a]) * 2\nout %2\n"),
            std::vector{1e-4});
  EXPECT_EQ(of("%1 i64[8] = sum(r:64) %0[a, r] -> i64($0)\nout %1\n"), std::vector{0.0});
}

TEST(Mismatch, IsTheFirstElementThatIsTooFar) {
  const Tensor expected = floats({1, -200, 3, INFINITY, NAN});
  EXPECT_FALSE(mismatch_of(expected, expected, 0));
  EXPECT_FALSE(mismatch_of(floats({1.01F, -200, 3, INFINITY, NAN}), expected, 1e-4));
  const auto wrong = mismatch_of(floats({1, -200, 3.5F, 7, NAN}), expected, 1e-4);
  ASSERT_TRUE(wrong);
  EXPECT_EQ(wrong->cause, Cause::wrong_result);
  EXPECT_EQ(wrong->detail, "element 2 is 3.5, not 3 (up to 0.02 may differ)");
  EXPECT_EQ(mismatch_of(floats({1, NAN, 3, INFINITY, NAN}), expected, 1e-4)->cause,
            Cause::not_a_number);
  EXPECT_EQ(mismatch_of(floats({1, -200, 3, INFINITY, 5}), expected, 1e-4)->cause,
            Cause::wrong_result);
  EXPECT_TRUE(mismatch_of(floats({1, -200, 3, -INFINITY, NAN}), expected, 0.5));
}

TEST(Mismatch, IsRelativeToTheLargestElementIfMagnitudesAreNotKnown) {
  const Tensor expected = floats({1e-6F, -2e-6F});
  EXPECT_TRUE(mismatch_of(floats({0, 0}), expected, 1e-4));
  EXPECT_FALSE(mismatch_of(floats({1.0001e-6F, -2e-6F}), expected, 1e-4));
  const Tensor zeros = floats({0, -0.0F});
  EXPECT_FALSE(mismatch_of(floats({-0.0F, 0}), zeros, 1e-4));
  EXPECT_TRUE(mismatch_of(floats({1e-30F, 0}), zeros, 1e-4));
  EXPECT_TRUE(mismatch_of(floats({NAN, 0}), zeros, 1e-4));
  EXPECT_TRUE(mismatch_of(floats({INFINITY, 0}), zeros, 1e-4));
}

TEST(Mismatch, IsRelativeToTheMagnitudesOfTerms) {
  const Tensor expected = floats({0, 1, INFINITY, 3, 0.001F});
  const auto magnitudes = [] { return floats({10, 1e6F, 1, INFINITY, 0}); };
  EXPECT_FALSE(
      mismatch_of(floats({9e-4F, 99, INFINITY, 3.0002F, 0.001F}), expected, 1e-4, 0, magnitudes));
  EXPECT_EQ(
      mismatch_of(floats({2e-3F, 1, INFINITY, 3, 0.001F}), expected, 1e-4, 0, magnitudes)->detail,
      "element 0 is 0.0020000000949949026, not 0 (up to 0.001 may differ)");
  EXPECT_TRUE(mismatch_of(floats({0, 1, 1e30F, 3, 0.001F}), expected, 1e-4, 0, magnitudes));
  // A magnitude that overflowed: the largest element counts.
  EXPECT_TRUE(mismatch_of(floats({0, 1, INFINITY, 3.001F, 0.001F}), expected, 1e-4, 0, magnitudes));
  EXPECT_TRUE(mismatch_of(floats({0, 1, INFINITY, 3, 0.0011F}), expected, 1e-4, 0, magnitudes));
  // Outliers have the same scale.
  EXPECT_FALSE(mismatch_of(floats({1.4F, 1, INFINITY, 3, 0.001F}), expected, 1e-4, 1, magnitudes));
  EXPECT_TRUE(mismatch_of(floats({1.6F, 1, INFINITY, 3, 0.001F}), expected, 1e-4, 1, magnitudes));
}

TEST(Mismatch, AsksForMagnitudesOnlyIfTheyMatter) {
  const auto magnitudes = []() -> Tensor { throw std::logic_error("not needed"); };
  EXPECT_FALSE(mismatch_of(floats({1.00005F, 2, NAN}), floats({1, 2, NAN}), 1e-4, 0, magnitudes));
  EXPECT_THROW(mismatch_of(floats({1.0002F}), floats({1}), 1e-4, 0, magnitudes), std::logic_error);
}

TEST(Mismatch, IsNoDenormalNumber) {
  EXPECT_FALSE(mismatch_of(floats({0, -1e-39F}), floats({1e-38F, 0}), 1e-4));
  EXPECT_TRUE(mismatch_of(floats({0}), floats({3e-38F}), 1e-4));
  // Kernels keep those of f16; rounding may choose either neighbour, but not zero.
  const auto half = [](float value) {
    return Tensor::of(std::vector<Half>{static_cast<Half>(value)}, {1});
  };
  EXPECT_FALSE(mismatch_of(half(0x11p-24F), half(0x10p-24F), 4e-3));
  EXPECT_TRUE(mismatch_of(half(0), half(0x10p-24F), 4e-3));
}

TEST(Mismatch, LetsFewElementsLieBehindAStep) {
  const Tensor expected = Tensor::of(std::vector<int32_t>{1, 2, 3}, {3});
  const Tensor one_off = Tensor::of(std::vector<int32_t>{1, 3, 3}, {3});
  const Tensor two_off = Tensor::of(std::vector<int32_t>{1, 4, 3}, {3});
  EXPECT_TRUE(mismatch_of(one_off, expected, 0));
  EXPECT_FALSE(mismatch_of(one_off, expected, 0, 1));
  EXPECT_TRUE(mismatch_of(two_off, expected, 0, 1));
  EXPECT_TRUE(mismatch_of(Tensor::of(std::vector<int32_t>{2, 3, 3}, {3}), expected, 0, 1));
}

Workload elementwise(const std::string& expression, const std::string& type) {
  return parse_workload("in %0 f32[8]\n%1 " + type + "[8] = " + expression + "\nout %1\n");
}

TEST(Jumps, AreRoundingsAndComparisonsOfFloats) {
  EXPECT_FALSE(is_discontinuous(elementwise("max(%0[a], 0) * exp(%0[a])", "f32")));
  EXPECT_TRUE(is_discontinuous(elementwise("floor(%0[a])", "f32")));
  EXPECT_TRUE(is_discontinuous(elementwise("i32(%0[a])", "i32")));
  EXPECT_TRUE(is_discontinuous(elementwise("select(%0[a] < 1, 0, %0[a])", "f32")));
}

TEST(Jumps, AreNoComparisonsWhoseOutcomesMeet) {
  const auto is_jump = [](const std::string& text) {
    return is_discontinuous(elementwise(text, "f32"));
  };
  EXPECT_FALSE(is_jump("select(%0[a] < 0, %0[a] * 0.1, %0[a])")) << "leaky ReLU";
  EXPECT_FALSE(is_jump("select(0 < %0[a], %0[a], 2 * (exp(%0[a]) - 1))")) << "ELU";
  EXPECT_TRUE(is_jump("select(%0[a] < 1, %0[a] * 0.1, %0[a])"));
  EXPECT_TRUE(is_jump("select(%0[a] < 0, floor(%0[a]) * 0, %0[a])")) << "a jump in a branch";
}

// What the Checker says if a kernel returns what `make` makes of the inputs (and weights). The
// kernel itself does not run.
using Make = std::function<std::vector<float>(const std::vector<Tensor>&)>;
std::optional<Failure> failure_of(const std::string& text, const std::vector<Tensor>& given,
                                  const Make& make) {
  const auto workload = std::make_shared<const Workload>(parse_workload(text));
  const Checker checker(workload, given, 1);
  const Kernel kernel(workload, *host_backend(), 1, checker.weights(0));
  std::vector<Tensor> inputs = checker.inputs(0);
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (inputs[i].empty()) inputs[i] = checker.weights(0)[i];
  }
  return checker.failure_of(kernel, 0, [&](const Kernel&, auto, auto outputs, std::byte*) {
    const std::vector<float> made = make(inputs);
    std::copy(made.begin(), made.end(), static_cast<float*>(outputs[0]));
  });
}

TEST(Checker, RefusesASoftmaxOfZeros) {
  const std::string softmax =
      "in %0 f32[2,50000]\n%1 f32[2] = max(r:50000) %0[a, r]\n"
      "%2 f32[2] = sum(r:50000) exp(%0[a, r] - %1[a])\n"
      "%3 f32[2,50000] = exp(%0[a, b] - %1[a]) / %2[a]\nout %3\n";
  const auto failure = failure_of(
      softmax, {}, [](const std::vector<Tensor>&) { return std::vector<float>(100000); });
  ASSERT_TRUE(failure);
  EXPECT_EQ(failure->cause, Cause::wrong_result);
}

// Two images of one pixel each, after a convolution by one filter: two rows by a vector.
constexpr int64_t kDepth = 144;
const char* const kConvolution =
    "weight %0 f32[2,48,3]\nweight %1 f32[1,48,3]\n"
    "%2 f32[2,1,1] = sum(r:48,s:3) %0[a, r, c + s] * %1[b, r, s]\nout %2\n";

std::vector<Tensor> operands(const std::vector<float>& rows, const std::vector<float>& vector) {
  return {Tensor::of(rows, {2, 48, 3}), Tensor::of(vector, {1, 48, 3})};
}

// The rows by the vector in f32, the last `dropped` terms of each left out.
std::vector<float> products(const std::vector<Tensor>& inputs, int64_t dropped) {
  const float* rows = inputs[0].data<float>();
  const float* vector = inputs[1].data<float>();
  std::vector<float> made(2);
  for (int64_t i = 0; i < 2 * kDepth; ++i) {
    const int64_t r = i % kDepth;
    if (r < kDepth - dropped) made[static_cast<size_t>(i / kDepth)] += rows[i] * vector[r];
  }
  return made;
}

TEST(Checker, AllowsCancellationButNoMissingTerm) {
  // Neighbours cancel except for a millionth.
  std::vector<float> rows(2 * kDepth);
  std::vector<float> vector(kDepth);
  for (size_t i = 0; i < rows.size(); ++i) {
    const size_t pair = i % kDepth / 2;
    rows[i] = (i % 2 == 0 ? 1.0F : -1.000001F) / static_cast<float>(pair + 1);
    vector[i % kDepth] = 0.1F * static_cast<float>(pair + 1);
  }
  const std::vector<Tensor> given = operands(rows, vector);
  EXPECT_FALSE(failure_of(kConvolution, given, [](const auto& in) { return products(in, 0); }));
  EXPECT_TRUE(failure_of(kConvolution, given, [](const auto& in) { return products(in, 1); }));
}

TEST(Checker, JudgesEachRowByItsOwnMagnitude) {
  std::vector<float> rows(2 * kDepth, 1e6F);
  std::fill_n(rows.begin(), kDepth, 1.0F);
  const std::vector<Tensor> given = operands(rows, std::vector<float>(kDepth, 0.5F));
  const auto with_error = [&](size_t row, float error) {
    return failure_of(kConvolution, given, [&](const auto& in) {
      std::vector<float> made = products(in, 0);
      made[row] += error;
      return made;
    });
  };
  EXPECT_FALSE(with_error(0, 0));
  EXPECT_FALSE(with_error(1, 100));
  EXPECT_FALSE(with_error(0, 1e-3F));
  EXPECT_TRUE(with_error(0, 0.1F));
}

TEST(Checker, AcceptsKernelsForHeavyTailedWeights) {
  std::mt19937 random(1);
  std::cauchy_distribution<float> cauchy;
  std::vector<float> rows(2 * kDepth);
  for (float& element : rows) element = std::pow(cauchy(random), 3.0F);
  std::vector<float> vector(kDepth);
  for (float& element : vector) element = cauchy(random);
  const std::vector<Tensor> given = operands(rows, vector);
  EXPECT_FALSE(failure_of(kConvolution, given, [](const auto& in) { return products(in, 0); }));
}

TEST(Checker, DemandsZerosWhereAllTermsAreZero) {
  const std::vector<Tensor> given =
      operands(std::vector<float>(2 * kDepth), std::vector<float>(kDepth, 0.5F));
  const auto with = [&](float value) {
    return failure_of(kConvolution, given,
                      [&](const auto&) { return std::vector<float>{0, value}; });
  };
  EXPECT_FALSE(with(-0.0F));
  EXPECT_FALSE(with(1e-40F));
  EXPECT_TRUE(with(1e-20F));
}

TEST(BinaryPlaces, AreKnownIfNothingRounds) {
  const auto of = [](const std::string& stages) {
    return binary_places(parse_workload("in %0 f32[8,64]\nin %1 i32[8]\n" + stages))[0];
  };
  EXPECT_EQ(of("%2 f32[8] = sum(r:64) %0[a, r]\nout %2\n"), 1);
  EXPECT_EQ(of("%2 f32[8] = sum(r:64) %0[a, r] * %0[a, r] -> max($0 + 0.25, 0)\nout %2\n"), 2);
  EXPECT_EQ(of("%2 f32[8] = max(r:64) %0[a, r]\n%3 f32[8] = %2[a] * f32(%1[a])\nout %3\n"), 1);
  EXPECT_EQ(of("%2 f32[8] = sum(r:64) %0[a, r] * 0.1\nout %2\n"), std::nullopt);
  EXPECT_EQ(of("%2 f32[8] = sum(r:64) exp(%0[a, r])\nout %2\n"), std::nullopt);
  EXPECT_EQ(of("%2 i32[8] = sum(r:64) %0[a, r] -> i32($0)\nout %2\n"), std::nullopt);
}

// What the Checker says on edge cases of what `change` leaves of a kernel's results.
std::optional<Failure> failure_after(const std::string& text,
                                     const std::function<void(float*)>& change) {
  const auto workload = std::make_shared<const Workload>(parse_workload(text));
  const Checker checker(workload, {}, 1);
  const Kernel kernel(workload, *host_backend(), 1, checker.weights(1));
  return checker.failure_of(kernel, 1,
                            [&](const Kernel& self, auto inputs, auto outputs, std::byte* work) {
                              self.run_on(inputs, outputs, work);
                              change(static_cast<float*>(outputs[0]));
                            });
}

TEST(Checker, SeesOneTermOfALongSumOnEdgeCases) {
  const std::string sum = "in %0 f32[1,500000]\n%1 f32[1] = sum(r:500000) %0[a, r]\nout %1\n";
  EXPECT_FALSE(failure_after(sum, [](float*) {}));
  EXPECT_TRUE(failure_after(sum, [](float* results) { results[0] += 0.5F; }));
}

TEST(Checker, SeesAnElementThatIsNotWritten) {
  // One element of so many may lie on the other side of a step.
  const std::string rounded = "in %0 f32[4096]\n%1 f32[4096] = round(%0[a] * 0.1)\nout %1\n";
  const GuardedMemory untouched(4, 4, GuardedMemory::Against::back, "untouched");
  const auto failure = failure_after(
      rounded, [&](float* results) { std::memcpy(results, untouched.elements(), 4); });
  ASSERT_TRUE(failure);
  EXPECT_EQ(failure->cause, Cause::not_a_number);
}

TEST(GuardedMemory, SeesWhatIsWrittenBesideIt) {
  using Against = GuardedMemory::Against;
  GuardedMemory front(100, 4, Against::front, "output 0");
  EXPECT_FALSE(front.stray_write());
  front.elements()[0] = front.elements()[99] = std::byte{1};
  EXPECT_FALSE(front.stray_write());
  front.elements()[102] = std::byte{1};
  EXPECT_EQ(front.stray_write(), "3 bytes behind output 0");
  GuardedMemory back(100, 4, Against::back, "output 1");
  back.elements()[-2] = std::byte{1};
  EXPECT_EQ(back.stray_write(), "2 bytes before output 1");
}

TEST(GuardedMemory, KnowsWhoseNeighbourWasTouched) {
  const Tensor tensor = guarded_copy(floats({1, 2, 3}), GuardedMemory::Against::back, "input 5");
  Stray stray = {};
  ASSERT_TRUE(stray_at(tensor.raw() + tensor.bytes(), stray));
  EXPECT_EQ(to_string(stray), "the memory 1 bytes behind input 5 was touched");
  ASSERT_TRUE(stray_at(tensor.raw() - 5000, stray));
  EXPECT_EQ(to_string(stray), "the memory 5000 bytes before input 5 was touched");
  ASSERT_TRUE(stray_at(tensor.raw() + 4, stray));
  EXPECT_EQ(to_string(stray), "input 5 was written to");
  EXPECT_FALSE(stray_at(&stray, stray));
}

TEST(GuardedMemoryDeathTest, EndsWhoeverTouchesAPage) {
  GuardedMemory back(100, 4, GuardedMemory::Against::back, "output 1");
  EXPECT_DEATH(static_cast<volatile std::byte*>(back.elements())[100] = std::byte{1}, "");
}

}  // namespace
}  // namespace aoe

#include "measure/worker/magnitude.h"

#include <gtest/gtest.h>

#include <cmath>

#include "expr/parse.h"
#include "measure/worker/random_tensor.h"

namespace aoe {
namespace {

std::vector<Tensor> random_inputs(const Workload& workload) {
  std::mt19937 random(1);
  std::vector<Tensor> inputs;
  for (const int id : workload.inputs) {
    inputs.push_back(random_tensor(workload.type_of(id), random));
  }
  return inputs;
}

// Each case is a workload, and one with the same inputs that computes the magnitudes of its output;
// null if they are not known.
struct Case {
  const char* name;
  const char* inputs;
  const char* stages;
  const char* magnitudes;
};

const Case kCases[] = {
    {"difference", "in %0 f32[8]\nin %1 f32[8]\n", "%2 f32[8] = %0[a] - %1[a]\n",
     "%2 f32[8] = abs(%0[a]) + abs(%1[a])\n"},
    {"negative_product", "in %0 f32[8]\nin %1 f32[8]\n", "%2 f32[8] = neg(%0[a] * %1[a])\n",
     "%2 f32[8] = abs(%0[a] * %1[a])\n"},
    {"constant", "in %0 f32[8]\n", "%1 f32[8] = %0[a] * -3\n", "%1 f32[8] = abs(%0[a]) * 3\n"},
    {"convolution_bias_relu", "in %0 f32[1,3,9]\nin %1 f32[4,3,3]\nin %2 f32[4]\n",
     "%3 f32[1,4,9] = sum(r:3,s:3) %0[a, r, (c + s) - 1]?0 * %1[b, r, s] -> max($0 + %2[b], 0)\n",
     "%3 f32[1,4,9] = sum(r:3,s:3) abs(%0[a, r, (c + s) - 1]?0 * %1[b, r, s]) -> $0 + "
     "abs(%2[b])\n"},
    {"residual_and_clip", "in %0 f32[4,8]\nweight %1 f32[8,4]\nin %2 f32[4,4]\n",
     "%3 f32[4,4] = sum(r:8) %0[a, r] * %1[r, b] -> min(max($0 - %2[a, b], 0), 6)\n",
     "%3 f32[4,4] = sum(r:8) abs(%0[a, r] * %1[r, b]) -> $0 + abs(%2[a, b])\n"},
    {"mean", "in %0 f32[4,8]\n", "%1 f32[4] = sum(r:8) %0[a, r] -> $0 / 8\n",
     "%1 f32[4] = sum(r:8) abs(%0[a, r]) -> $0 / 8\n"},
    {"two_products", "in %0 f32[4,8]\nin %1 f32[8,6]\nin %2 f32[6,3]\n",
     "%3 f32[4,6] = sum(r:8) %0[a, r] * %1[r, b] -> max($0, 0)\n"
     "%4 f32[4,3] = sum(r:6) %3[a, r] * %2[r, b]\n",
     "%3 f32[4,6] = sum(r:8) abs(%0[a, r] * %1[r, b])\n"
     "%4 f32[4,3] = sum(r:6) %3[a, r] * abs(%2[r, b])\n"},
    {"view_of_a_sum", "in %0 f32[4,8]\n",
     "view %2 f32[2,2] = %1\n%1 f32[4] = sum(r:8) %0[a, r]\n%3 f32[2,2] = %2[a, b] - 1\n",
     "view %2 f32[2,2] = %1\n%1 f32[4] = sum(r:8) abs(%0[a, r])\n%3 f32[2,2] = %2[a, b] + 1\n"},
    // A mask is exact; the sign of a sum is not, so that either branch may be taken.
    {"mask", "in %0 f32[8]\nin %1 f32[8]\nin %2 bool[8]\n",
     "%3 f32[8] = select(%2[a], %0[a] - %1[a], -inf)\n",
     "%3 f32[8] = select(%2[a], abs(%0[a]) + abs(%1[a]), 0)\n"},
    {"leaky_relu_of_a_sum", "in %0 f32[4,8]\n",
     "%1 f32[4] = sum(r:8) %0[a, r] -> select($0 < 0, 0.5 * $0, $0)\n",
     "%1 f32[4] = sum(r:8) abs(%0[a, r])\n"},
    {"max_pooling", "in %0 f32[9]\n", "%1 f32[4] = max(r:3) %0[((a * 2) + r) - 1]?-inf\n",
     "%1 f32[4] = max(r:3) %0[((a * 2) + r) - 1]?-inf -> abs($0)\n"},
    {"max_of_sums", "in %0 f32[4,8]\n",
     "%1 f32[4] = sum(r:8) %0[a, r]\n%2 f32[] = max(r:4) %1[r]\n",
     "%1 f32[4] = sum(r:8) abs(%0[a, r])\n%2 f32[] = max(r:4) %1[r]\n"},
    // Functions of exact operands count as one term.
    {"functions", "in %0 f32[8]\nin %1 f32[8]\n", "%2 f32[8] = exp(%0[a]) - tanh(%1[a] - %0[a])\n",
     "%2 f32[8] = exp(%0[a]) + abs(tanh(%1[a] - %0[a]))\n"},
    {"softmax", "in %0 f32[4,10]\n",
     "%1 f32[4] = max(r:10) %0[a, r]\n"
     "%2 f32[4] = sum(r:10) exp(%0[a, r] - %1[a])\n"
     "%3 f32[4,10] = exp(%0[a, b] - %1[a]) / %2[a]\n",
     "%1 f32[4] = max(r:10) %0[a, r]\n"
     "%2 f32[4] = sum(r:10) exp(%0[a, r] - %1[a])\n"
     "%3 f32[4,10] = exp(%0[a, b] - %1[a]) / %2[a]\n"},
    {"root_mean_square", "in %0 f32[4,10]\n",
     "%1 f32[4] = sum(r:10) %0[a, r] * %0[a, r] -> sqrt(($0 / 10) + 0.001)\n"
     "%2 f32[4,10] = %0[a, b] / %1[a]\n",
     "%1 f32[4] = sum(r:10) %0[a, r] * %0[a, r] -> sqrt(($0 / 10) + 0.001)\n"
     "%2 f32[4,10] = abs(%0[a, b]) / %1[a]\n"},
    // The zero point of a quantized element is no term.
    {"dequantized", "in %0 i8[4,8]\nin %1 f32[8]\n",
     "%2 f32[4] = sum(r:8) (f32(%0[a, r]) - f32(100:i8)) * %1[r]\n",
     "%2 f32[4] = sum(r:8) abs(f32(%0[a, r]) - f32(100:i8)) * abs(%1[r])\n"},
    {"gathered", "in %0 f32[8]\nin %1 i64[5]\n", "%2 f32[5] = %0[%1[a]] + 1\n",
     "%2 f32[5] = abs(%0[%1[a]]) + 1\n"},
    {"function_of_a_sum", "in %0 f32[4,8]\n", "%1 f32[4] = sum(r:8) %0[a, r] -> exp($0)\n",
     nullptr},
    {"rounded_sum", "in %0 f32[4,8]\n", "%1 f32[4] = sum(r:8) %0[a, r] -> round($0)\n", nullptr},
    {"quotient_of_a_sum", "in %0 f32[4,8]\n", "%1 f32[4] = sum(r:8) %0[a, r] -> 1 / $0\n", nullptr},
    {"moments", "in %0 f32[4,8]\n", "%1 f32[4] = moments(r:8) 1; %0[a, r]; 0 -> $1\n", nullptr},
    {"position", "in %0 f32[4,8]\n", "%1 i64[4] = arg_max(r:8) %0[a, r]; r -> $1\n", nullptr},
    {"indexed_by_a_sum", "in %0 f32[8]\nin %1 f32[5,8]\n",
     "%2 f32[5] = sum(r:8) %1[a, r]\n%3 f32[5] = %0[i64(min(max(%2[a], 0), 7))]\n", nullptr},
};

// The last value of the stages is the output.
Workload parsed(const Case& of, const char* stages) {
  const std::string text = of.stages;
  const size_t last = text.rfind('\n', text.size() - 2);
  const std::string line = text.substr(last == std::string::npos ? 0 : last + 1);
  return parse_workload(of.inputs + std::string(stages) + "out " + line.substr(0, line.find(' ')) +
                        "\n");
}

class MagnitudeOf : public testing::TestWithParam<Case> {};

TEST_P(MagnitudeOf, IsTheSumOfTheMagnitudesOfItsTerms) {
  const Workload workload = parsed(GetParam(), GetParam().stages);
  const std::vector<Tensor> inputs = random_inputs(workload);
  const std::vector<Tensor> found = Magnitudes(workload).run(inputs, 1);
  ASSERT_EQ(found.size(), 1);
  if (GetParam().magnitudes == nullptr) {
    EXPECT_TRUE(found[0].empty());
    return;
  }
  ASSERT_FALSE(found[0].empty()) << to_string(workload);
  const auto stated = std::make_shared<const Workload>(parsed(GetParam(), GetParam().magnitudes));
  const std::vector<double> magnitudes = found[0].to_doubles();
  const std::vector<double> expected = Evaluator(stated).run(inputs, 1)[0].to_doubles();
  ASSERT_EQ(magnitudes.size(), expected.size());
  for (size_t i = 0; i < expected.size(); ++i) {
    EXPECT_NEAR(magnitudes[i], expected[i], 1e-6 * expected[i]) << "element " << i;
  }
}

INSTANTIATE_TEST_SUITE_P(Workloads, MagnitudeOf, testing::ValuesIn(kCases),
                         [](const auto& of) { return of.param.name; });

TEST(Magnitudes, CostNoMoreThanTheReference) {
  for (const Case& of : kCases) {
    const Workload workload = parsed(of, of.stages);
    EXPECT_LE(work_of(*magnitude_workload(workload).workload), work_of(workload)) << of.name;
  }
  // A sum of products of loads is what the reference computes fastest.
  const Workload product = parse_workload(
      "in %0 f32[4,8]\nin %1 f32[8,4]\n%2 f32[4,4] = sum(r:8) %0[a, r] * %1[r, b]\nout %2\n");
  EXPECT_EQ(to_string(*magnitude_workload(product).workload),
            "in %0 f32[4,8]\nin %1 f32[8,4]\nin %3 f32[4,8]\nin %4 f32[8,4]\n"
            "%5 f32[4,4] = sum(r:8) %3[a, r] * %4[r, b]\nout %5\n");
}

TEST(Magnitudes, AreKnownForSomeOutputs) {
  const Workload workload = parse_workload(
      "in %0 f32[4,8]\n%1 f32[4] = sum(r:8) %0[a, r]\n%2 f32[4] = exp(%1[a])\n"
      "%3 f32[4] = %1[a] + 1\nout %2, %3\n");
  const std::vector<Tensor> found = Magnitudes(workload).run(random_inputs(workload), 1);
  ASSERT_EQ(found.size(), 2);
  EXPECT_TRUE(found[0].empty());
  EXPECT_FALSE(found[1].empty());
}

}  // namespace
}  // namespace aoe

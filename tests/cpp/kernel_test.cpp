#include "codegen/kernel.h"

#include <gtest/gtest.h>

#include <cmath>

#include "expr/parse.h"
#include "tests/cpp/generated.h"

namespace aoe {
namespace {

// Numbers between -1 and 1, and small indexes, that depend on nothing but their place.
Tensor filled(const TensorType& type) {
  Tensor tensor(type);
  uint32_t state = 1;
  for (int64_t i = 0; i < tensor.count(); ++i) {
    state = state * 1664525 + 1013904223;
    if (type.dtype == DType::i64) tensor.data<int64_t>()[i] = state >> 29;
    else tensor.data<float>()[i] = static_cast<float>(state >> 8) / 8388608.0F - 1;
  }
  return tensor;
}

// Workloads whose kernels once read, wrote or computed what they should not have.
struct Case {
  const char* name;
  const char* text;
};

const Case kCases[] = {
    {"own_reducers_of_one_name_1",
     "in %0 f32[5,77]\n%1 f32[5] = total{0:f32 -> $0 + $1}(r:77) "
     "%0[a, r]\nout %1\n"},
    {"own_reducers_of_one_name_2",
     "in %0 f32[5,77]\n%1 f32[5] = total{0:f32 -> max($0, $1)}(r:77) "
     "%0[a, r]\nout %1\n"},
    {"a_reduction_that_minds_the_order",
     "in %0 f32[3,37]\nin %1 f32[3,37]\n%2 f32[3], %3 f32[3] = horner{1:f32; 0:f32 -> $0 * $2; "
     "($1 * $2) + $3}(r:37) %0[a, r]; %1[a, r] -> $0; $1\nout %2, %3\n"},
    {"no_sum_but_its_name",
     "in %0 f32[20,400]\nin %1 f32[400,24]\n%2 f32[20,24] = sum{0:f32 -> "
     "max($0, $1)}(r:400) %0[a, r] * %1[r, b]\nout %2\n"},
    {"many_operands_after_a_product",
     "in %0 f32[32,64]\nweight %1 f32[64,32]\nin %2 f32[32]\nin %3 f32[32]\nin %4 f32[32]\nin %5 "
     "f32[32]\nin %6 f32[32]\nin %7 f32[32]\nin %8 f32[32]\n%9 f32[32,32] = sum(r:64) %0[a, r] * "
     "%1[r, b] -> (((((($0 + %2[b]) + %3[b]) + %4[b]) + %5[b]) + %6[b]) + %7[b]) + %8[b]\nout "
     "%9\n"},
    {"a_side_that_is_looked_up",
     "in %0 f32[16,16]\nin %1 f32[8,4,24]\nin %2 i64[16]\n%3 "
     "f32[16,4,24] = sum(r:16) %0[a, r] * %1[%2[r], b, c]\nout %3\n"},
    {"a_guarded_load_along_blocks",
     "in %0 f32[2000]\n%1 f32[256,256] = select((a + (b * 256)) < 2000, %0[a + (b * 256)], 0)\nout "
     "%1\n"},
    {"results_that_look_elsewhere",
     "in %0 f32[6,8,16]\n%1 f32[6,8,16] = exp(%0[a, b, c])\n%2 f32[6,8] = sum(r:16) %1[a, b, r] "
     "-> $0 + %1[a, 7 - b, 0]\nout %1, %2\n"},
    {"division_by_the_very_large",
     "in %0 f32[4,50]\nin %1 f32[4]\n%2 f32[4,50] = (%0[a, b] * 1e+38) / (%1[a] + 2e+38)\nout "
     "%2\n"},
    {"a_window_over_one_column",
     "in %0 f32[1,8,64,1]\nweight %1 f32[16,8,5,1]\n%2 f32[1,16,60,1] "
     "= sum(r:8,s:5) %0[a, r, c + s, 0] * %1[b, r, s, 0]\nout %2\n"},
    {"windows_two_apart_over_lines_of_53",
     "in %0 f32[3,55,53]\nin %1 f32[3,5,5]\n%2 f32[3,28,27] = sum(r:5,s:5) %0[a, ((b * 2) + r) - "
     "2, "
     "((c * 2) + s) - 2]?0 * %1[a, r, s]\nout %2\n"},
    {"windows_three_apart_that_begin_inside",
     "in %0 f32[4,31,140]\n%1 f32[4,11,46] = max(r:3,s:4) %0[a, ((b * 3) + r) - 1, (c * 3) + "
     "s]?-inf\nout %1\n"},
    {"windows_four_apart_beyond_both_ends",
     "in %0 f32[2,9,13]\n%1 f32[2,5,9] = sum(r:2,s:7) %0[a, ((b * 4) + r) - 5, ((c * 4) + s) - "
     "11]?0\nout %1\n"},
    {"windows_over_a_dimension_of_one",
     "in %0 f32[8,1,7]\nin %1 f32[8,2]\n%2 f32[3,3] = sum(r:8,s:2) %0[r, a - 1, (b * 3) + s]?0 * "
     "%1[r, s]\nout %2\n"},
    {"windows_with_gaps",
     "in %0 f32[2,40,70]\nin %1 f32[2,3,3]\n%2 f32[2,18,33] = sum(r:3,s:3) %0[a, ((b * 2) + (r * "
     "3)) "
     "- 1, ((c * 2) + (s * 3)) - 1]?0 * %1[a, r, s]\nout %2\n"},
};

class Kernels : public testing::TestWithParam<Case> {};

TEST_P(Kernels, ComputeWhatTheReferenceDoes) {
  const auto workload = std::make_shared<const Workload>(parse_workload(GetParam().text));
  std::vector<Tensor> inputs;
  std::vector<Tensor> weights;
  for (const int id : workload->inputs) {
    const Workload::Value& value = workload->values[static_cast<size_t>(id)];
    inputs.push_back(filled(value.type));
    weights.push_back(value.weight ? inputs.back() : Tensor());
  }
  const std::vector<Tensor> expected = Evaluator(workload).run(inputs, 1);
  for (const Device& device : host_devices()) {
    const Kernel kernel(workload, device, weights);
    const std::vector<Tensor> results = kernel.run(inputs, 1);
    EXPECT_EQ(kernel.fallbacks(), 0);
    for (size_t i = 0; i < expected.size(); ++i) {
      const std::vector<double> found = results[i].to_doubles();
      const std::vector<double> wanted = expected[i].to_doubles();
      double largest = 0;
      for (const double number : wanted) largest = std::max(largest, std::fabs(number));
      for (size_t e = 0; e < wanted.size(); ++e) {
        ASSERT_NEAR(found[e], wanted[e], 1e-5 * largest)
            << name(device.instruction_sets.back()) << ", output " << i << ", element " << e;
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Mended, Kernels, testing::ValuesIn(kCases),
                         [](const auto& tested) { return std::string(tested.param.name); });

TEST(Kernel, ReportsAnIndexAsTheReferenceDoes) {
  const auto workload = std::make_shared<const Workload>(
      parse_workload("in %0 f32[4]\nin %1 i64[3]\n%2 f32[3] = %0[%1[a]]\nout %2\n"));
  const Kernel kernel(workload, host_device());
  const std::vector<Tensor> inputs{Tensor::of<float>({1, 2, 3, 4}, {4}),
                                   Tensor::of_ints({0, 7, 1})};
  EXPECT_THROW(kernel.run(inputs, 1), Error);
  EXPECT_EQ(kernel.fallbacks(), 1);
}

}  // namespace
}  // namespace aoe

#include "backend/kernel.h"

#include <gtest/gtest.h>

#include <cmath>

#include <fmt/format.h>

#include "expr/parse.h"
#include "policy/policy_text.h"
#include "policy/validate.h"
#include "tests/cpp/backends.h"

namespace aoe {
namespace {

// Numbers in [-1, 1), or small indexes, determined by their position.
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

// Regression cases: workloads whose kernels once accessed memory out of bounds or gave wrong
// results.
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
    {"weights_beside_others_along_a_reduction",
     "in %0 f32[2,23,17,3]\nweight %1 f32[2,23,2,3]\n%2 f32[2,23,19,3] = select(c < 17, %0[a, b, "
     "c, "
     "d], %1[a, b, c - 17, d])\n%3 f32[2,19] = sum(r:23,s:3) %2[a, r, b, s]\nout %3\n"},
    {"channels_last_in_pieces",
     "in %0 f32[2,9,11,24]\nweight %1 f32[40,24,3,3]\nin %2 f32[2,5,6,40]\n%3 f32[2,5,6,40] = "
     "sum(r:24,s:3,t:3) %0[a, ((b * 2) + s) - 1, ((c * 2) + t) - 1, r]?0 * %1[d, r, s, t] -> "
     "max($0 "
     "+ %2[a, b, c, d], 0)\nout %3\n"},
    {"channels_last_of_channels_first",
     "in %0 f32[1,3,33,35]\nweight %1 f32[32,3,7,7]\n%2 f32[1,17,18,32] = sum(r:3,s:7,t:7) %0[a, "
     "r, "
     "((b * 2) + s) - 3, ((c * 2) + t) - 3]?0 * %1[d, r, s, t]\nout %2\n"},
    {"channels_last_each_by_itself",
     "in %0 f32[1,9,10,45]\nweight %1 f32[45,1,3,3]\n%2 f32[1,9,10,45] = sum(r:3,s:3) %0[a, (b + "
     "r) "
     "- 1, (c + s) - 1, d]?0 * %1[d, 0, r, s]\nout %2\n"},
    {"largest_with_channels_last",
     "in %0 f32[1,9,10,45]\n%1 f32[1,5,5,45] = max(r:3,s:3) %0[a, ((b * 2) + r) - 1, ((c * 2) + s) "
     "- 1, d]?-inf\nout %1\n"},
};

// Compares with the reference, by the given policy or by the default policy of each device.
void expect_as_the_reference(const char* text, const std::string& policy_text = "") {
  const auto workload = std::make_shared<const Workload>(parse_workload(text));
  std::vector<Tensor> inputs;
  std::vector<Tensor> weights;
  for (const int id : workload->inputs) {
    const Workload::Value& value = workload->values[static_cast<size_t>(id)];
    inputs.push_back(filled(value.type));
    weights.push_back(value.weight ? inputs.back() : Tensor());
  }
  const std::vector<Tensor> expected = Evaluator(workload).run(inputs, 1);
  for (const Device& device : host_devices()) {
    const Policy policy = policy_text.empty() ? default_policy(*workload, device)
                                              : parse_policy(policy_text, *workload);
    if (validate(policy, *workload, device)) continue;
    for (const auto& [name, backend] : backends_for(device)) {
      const Kernel kernel(workload, policy, *backend, 1, weights);
      const std::vector<Tensor> results = kernel.run(inputs);
      EXPECT_EQ(kernel.fallbacks(), 0);
      for (size_t i = 0; i < expected.size(); ++i) {
        const std::vector<double> found = results[i].to_doubles();
        const std::vector<double> wanted = expected[i].to_doubles();
        double largest = 0;
        for (const double number : wanted) largest = std::max(largest, std::fabs(number));
        for (size_t e = 0; e < wanted.size(); ++e) {
          ASSERT_NEAR(found[e], wanted[e], 1e-5 * largest)
              << name << ", " << device.widest_vectors() << ", output " << i << ", element " << e;
        }
      }
    }
  }
}

class Kernels : public testing::TestWithParam<Case> {};

TEST_P(Kernels, ComputeWhatTheReferenceDoes) { expect_as_the_reference(GetParam().text); }

INSTANTIATE_TEST_SUITE_P(Mended, Kernels, testing::ValuesIn(kCases),
                         [](const auto& tested) { return std::string(tested.param.name); });

// Transposes with rows that vectors divide and rows that they do not, in blocks of the widest and
// of narrower vectors, with streaming stores.
TEST(Transposes, ComputeWhatTheReferenceDoesPastTheCaches) {
  struct {
    int matrices, rows, columns;
  } const sizes[] = {{3, 33, 32}, {2, 64, 48}, {2, 5, 16}};
  for (const auto& [matrices, rows, columns] : sizes) {
    for (const char* dtype : {"f32", "i64"}) {
      const std::string text =
          fmt::format("in %0 {0}[{1},{2},{3}]\n%1 {0}[{1},{3},{2}] = %0[a, c, b]\nout %1\n", dtype,
                      matrices, rows, columns);
      for (const int side : {2, 4, 8, 16}) {
        expect_as_the_reference(text.c_str(),
                                fmt::format("loops outer=1 [c:{0} b/{0} stream]", side));
      }
    }
  }
}

// Larger than the second-level cache, with strides of more than a page.
TEST(Sums, AcrossPagesAreWhatTheReferenceComputes) {
  expect_as_the_reference("in %0 f32[601,2051]\n%1 f32[2051] = sum(r:601) %0[r, a]\nout %1\n");
}

// An index that is the same for all lanes need not be affine.
TEST(Loads, ReadVectorsAtPlacesThatAreNotLinear) {
  expect_as_the_reference(
      "in %0 f32[2,7,5,24]\n%1 f32[2,14,15,24] = %0[a, b / 2, c / 3, d]\nout %1\n");
  expect_as_the_reference(
      "in %0 f32[2,7,5,24]\n%1 f32[2,9,15,24] = %0[a, (b / 2) + 3, (c / 3) - 1, d]?0\nout %1\n");
}

// Padding of strided windows is written during packing, row by row: one block or several, one image
// or more, every stride, and last windows that extend beyond the image or end before it.
TEST(Packing, SurroundsWindowsWithSteps) {
  struct {
    int64_t images, channels, height, width, side, step, padding;
  } const sizes[] = {{1, 3, 31, 40, 7, 2, 3},
                     {3, 3, 20, 33, 3, 2, 1},
                     {2, 5, 23, 26, 5, 3, 2},
                     {1, 4, 17, 50, 3, 4, 2}};
  for (const auto& [n, c, h, w, side, step, padding] : sizes) {
    const int64_t rows = (h + 2 * padding - side) / step + 1;
    const int64_t columns = (w + 2 * padding - side) / step + 1;
    const std::string text = fmt::format(
        "in %0 f32[{0},{1},{2},{3}]\nweight %1 f32[24,{1},{4},{4}]\n%2 f32[{0},24,{7},{8}] = "
        "sum(r:{1},s:{4},t:{4}) %0[{9}, r, ((c * {5}) + s) - {6}, ((d * {5}) + t) - {6}]?0 * %1[b, "
        "r, s, t]\nout %2\n",
        n, c, h, w, side, step, padding, rows, columns, n == 1 ? "0" : "a");
    const Schedule schedule = schedule_of(parse_workload(text), {});
    ASSERT_EQ(schedule.items.size(), 1) << text;
    expect_as_the_reference(text.c_str());
    expect_as_the_reference(
        text.c_str(),
        fmt::format("product tile=4x2x4 block={}x{} first=columns", side * side, 2 * columns));
  }
}

// Compares an algorithm with the reference on all instruction sets and several thread counts. The
// second input is a weight.
void expect_near_the_reference(const std::string& text, const StagePolicy& by) {
  const auto workload = std::make_shared<const Workload>(parse_workload(text));
  std::vector<Tensor> inputs;
  for (const int id : workload->inputs) {
    inputs.push_back(filled(workload->values[static_cast<size_t>(id)].type));
  }
  std::vector<Tensor> weights(inputs.size());
  weights[1] = inputs[1];
  const std::vector<double> expected = Evaluator(workload).run(inputs, 1)[0].to_doubles();
  double largest = 0;
  for (const double number : expected) largest = std::max(largest, std::fabs(number));
  const Structure structure{{by}};
  const Schedule schedule = schedule_of(*workload, structure);
  ASSERT_EQ(schedule.items.size(), 1) << text;
  ASSERT_TRUE(std::get<ProductItem>(schedule.items[0]).shape.transformed) << text;
  for (const Device& device : host_devices()) {
    const Policy policy = default_policy(schedule, structure, device);
    for (const auto& [name, backend] : backends_for(device)) {
      for (const int threads : {1, 3}) {
        const Kernel kernel(workload, policy, *backend, threads, weights);
        const std::vector<double> found = kernel.run(inputs)[0].to_doubles();
        for (size_t e = 0; e < expected.size(); ++e) {
          ASSERT_NEAR(found[e], expected[e], 1e-5 * largest)
              << text << name << ", " << device.widest_vectors() << ", " << threads
              << " threads, element " << e;
        }
      }
    }
  }
}

// Sizes that tiles divide and sizes that they do not, several images, no padding, and epilogues.
struct Convolution {
  int64_t images, height, width, channels, filters, padding;
};

TEST(Winograd, ComputesWhatTheReferenceDoes) {
  for (const Convolution& c : std::vector<Convolution>{{1, 8, 8, 32, 32, 1},
                                                       {1, 7, 7, 48, 64, 1},
                                                       {2, 14, 13, 32, 96, 1},
                                                       {3, 5, 3, 40, 32, 0},
                                                       {1, 1, 2, 32, 32, 1},
                                                       {1, 14, 17, 1, 64, 1}}) {
    const std::string text = fmt::format(
        "in %0 f32[{0},{1},{2},{3}]\nweight %1 f32[{4},{3},3,3]\nin %2 f32[{4}]\nin %3 "
        "f32[{0},{5},{6},{4}]\n%4 f32[{0},{5},{6},{4}] = sum(r:{3},s:3,t:3) %0[{8}, (b + s) - {7}, "
        "(c + t) - {7}, r]?0 * %1[d, r, s, t] -> max(($0 + %2[d]) + %3[{8}, b, c, d], 0)\nout %4\n",
        c.images, c.height, c.width, c.channels, c.filters, c.height + 2 * c.padding - 2,
        c.width + 2 * c.padding - 2, c.padding, "a");
    for (const int side : kWinogradTiles) expect_near_the_reference(text, {.winograd = side});
  }
}

// Even and odd numbers of rows, one pair of rows, tiles that divide them and tiles that do not,
// several blocks of rows with a single row in the last, rows a page apart.
TEST(Strassen, ComputesWhatTheReferenceDoes) {
  for (const auto& [rows, depth, columns] : std::vector<std::array<int64_t, 3>>{{64, 96, 64},
                                                                                {37, 34, 96},
                                                                                {2, 512, 32},
                                                                                {3, 300, 32},
                                                                                {513, 8, 32},
                                                                                {257, 10, 160},
                                                                                {13, 2048, 32}}) {
    expect_near_the_reference(
        fmt::format(
            "in %0 f32[{0},{1}]\nweight %1 f32[{1},{2}]\nin %2 f32[{2}]\nin %3 "
            "f32[{0},{2}]\nin %4 f32[{0}]\nin %5 f32[]\n%6 f32[{0},{2}] = sum(r:{1}) %0[a, r] * "
            "%1[r, b] -> max((($0 + %2[b]) + %3[a, b]) * %4[a], %5[])\nout %6\n",
            rows, depth, columns),
        {.strassen = true});
  }
}

// An infinity reaches the row that it is paired with, and no other.
TEST(Strassen, MixesNoMoreThanTwoRows) {
  const auto workload = std::make_shared<const Workload>(parse_workload(
      "in %0 f32[12,64]\nweight %1 f32[64,64]\n%2 f32[12,64] = sum(r:64) %0[a, r] * %1[r, b]\nout "
      "%2\n"));
  std::vector<Tensor> inputs;
  for (const int id : workload->inputs) {
    inputs.push_back(filled(workload->values[static_cast<size_t>(id)].type));
  }
  inputs[0].data<float>()[5 * 64] = INFINITY;
  const Structure structure{{{.strassen = true}}};
  const Device device = host_devices().back();
  const Policy policy = default_policy(schedule_of(*workload, structure), structure, device);
  for (const auto& [name, backend] : backends_for(device)) {
    const std::vector<double> found =
        Kernel(workload, policy, *backend, 1, {{}, inputs[1]}).run(inputs)[0].to_doubles();
    for (size_t e = 0; e < found.size(); ++e) {
      if (e / 64 != 4 && e / 64 != 5) {
        EXPECT_TRUE(std::isfinite(found[e])) << name << e;
      } else if (e / 64 == 5) {
        EXPECT_FALSE(std::isfinite(found[e])) << name << e;
      }
    }
  }
}

TEST(Winograd, HasRoomForManyOperandsBehindTheSums) {
  constexpr int kOthers = 24;
  std::string text = "in %0 f32[1,8,8,32]\nweight %1 f32[64,32,3,3]\n";
  std::string result = "$0";
  for (int i = 0; i < kOthers; ++i) {
    text += fmt::format("in %{} f32[1,8,8,64]\n", 2 + i);
    result = fmt::format("({} + %{}[a, b, c, d])", result, 2 + i);
  }
  text += fmt::format(
      "%{0} f32[1,8,8,64] = sum(r:32,s:3,t:3) %0[a, (b + s) - 1, (c + t) - 1, r]?0 * %1[d, r, s, "
      "t] "
      "-> {1}\nout %{0}\n",
      2 + kOthers, result);
  expect_near_the_reference(text, {.winograd = 4});
}

// Sums of products that resemble such a convolution but are none.
TEST(Winograd, IsForConvolutionsAlone) {
  const char* const texts[] = {
      // Separate weights for each image.
      "in %0 f32[2,16,16,32]\nweight %1 f32[2,3,3,32,128]\n%2 f32[2,16,16,128] = sum(r:3,s:3,t:32) "
      "%0[a, (b + r) - 1, (c + s) - 1, t]?0 * %1[a, r, s, t, d]\nout %2\n",
      // A different row of each image.
      "in %0 f32[16,18,18,32]\nweight %1 f32[3,3,32,128]\n%2 f32[16,16,128] = sum(r:3,s:3,t:32) "
      "%0[a, a + r, b + s, t] * %1[r, s, t, c]\nout %2\n",
      // Along a diagonal.
      "in %0 f32[1,18,18,32]\nweight %1 f32[3,32,128]\n%2 f32[1,16,16,128] = sum(r:3,s:32) "
      "%0[a, b + r, c + r, s] * %1[r, s, d]\nout %2\n",
  };
  for (const char* text : texts) {
    const Workload workload = parse_workload(text);
    EXPECT_FALSE(winograd_of(workload, workload.stages[0])) << text;
  }
}

TEST(Kernel, ReportsAnIndexAsTheReferenceDoes) {
  const auto workload = std::make_shared<const Workload>(
      parse_workload("in %0 f32[4]\nin %1 i64[3]\n%2 f32[3] = %0[%1[a]]\nout %2\n"));
  const std::vector<Tensor> inputs{Tensor::of<float>({1, 2, 3, 4}, {4}),
                                   Tensor::of_ints({0, 7, 1})};
  for (const auto& [name, backend] : backends_for(host_device())) {
    const Kernel kernel(workload, *backend, 1);
    EXPECT_THROW(kernel.run(inputs), Error) << name;
    EXPECT_EQ(kernel.fallbacks(), 1) << name;
  }
}

}  // namespace
}  // namespace aoe

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "backend/kernel.h"
#include "expr/parse.h"
#include "measure/host/guarded_memory.h"
#include "measure/worker/numeric_check.h"
#include "measure/worker/random_tensor.h"
#include "policy/policy_text.h"
#include "policy/strips.h"
#include "policy/validate.h"
#include "tests/cpp/backends.h"
#include "tests/cpp/error_message.h"

// Programs: how builders handle strips, and how backends run the result.

namespace aoe {
namespace {

// An inverted residual of MobileNetV2, smaller: expansion, depthwise, projection and sum.
constexpr const char* kInvertedResidual =
    "in %0 f32[1,12,10,8]\n"
    "weight %1 f32[48,8]\n"
    "weight %2 f32[48]\n"
    "weight %3 f32[48,3,3]\n"
    "weight %4 f32[48]\n"
    "weight %5 f32[16,48]\n"
    "in %6 f32[1,12,10,16]\n"
    "%7 f32[1,12,10,48] = sum(r:8) %0[a, b, c, r] * %1[d, r] -> min(max($0 + %2[d], 0), 6)\n"
    "%8 f32[1,12,10,48] = sum(r:3,s:3) %7[a, (b + r) - 1, (c + s) - 1, d]?0 * %3[d, r, s] -> "
    "min(max($0 + %4[d], 0), 6)\n"
    "%9 f32[1,12,10,16] = sum(r:48) %8[a, b, c, r] * %5[d, r] -> $0 + %6[a, b, c, d]\n"
    "out %9\n";

// Attention without a transpose of the heads in memory.
constexpr const char* kAttention =
    "in %0 f32[24,3,16]\n"
    "in %1 f32[20,3,16]\n"
    "in %2 f32[20,3,16]\n"
    "%3 f32[3,24,20] = sum(r:16) %0[b, a, r] * %1[c, a, r] -> $0 * 0.25\n"
    "%4 f32[3,24] = max(r:20) %3[a, b, r]\n"
    "%5 f32[3,24] = sum(r:20) exp(%3[a, b, r] - %4[a, b])\n"
    "%6 f32[3,24,20] = exp(%3[a, b, c] - %4[a, b]) / %5[a, b]\n"
    "%7 f32[3,24,16] = sum(r:20) %6[a, b, r] * %2[r, a, c]\n"
    "out %7\n";

struct Problem {
  std::shared_ptr<const Workload> workload;
  std::vector<Tensor> inputs, weights;

  explicit Problem(const char* text)
      : workload(std::make_shared<const Workload>(parse_workload(text))) {
    std::mt19937 random(3);
    for (const int id : workload->inputs) {
      const Workload::Value& value = workload->values[static_cast<size_t>(id)];
      inputs.push_back(random_tensor(value.type, random));
      weights.push_back(value.weight ? inputs.back() : Tensor{});
    }
  }
};

// All backends against the reference, with one and two threads.
void expect_as_the_reference(const Problem& problem, const std::string& policy_text) {
  const std::vector<Tensor> expected = Evaluator(problem.workload).run(problem.inputs, 1);
  for (const Device& device : host_devices()) {
    const Policy policy = parse_policy(policy_text, *problem.workload, device);
    ASSERT_EQ(validate(policy, *problem.workload, device), std::nullopt) << policy_text;
    for (const auto& [name, backend] : backends_for(device)) {
      for (const int threads : {1, 2}) {
        const Kernel kernel(problem.workload, policy, *backend, threads, problem.weights);
        const std::vector<Tensor> found = kernel.run(problem.inputs);
        EXPECT_EQ(kernel.fallbacks(), 0);
        const auto wrong = mismatch_of(found[0], expected[0], 1e-5);
        EXPECT_FALSE(wrong) << name << policy_text << wrong->detail;
      }
    }
  }
}

TEST(Strips, ComputeAnInvertedResidualAsTheReferenceDoes) {
  const Problem problem(kInvertedResidual);
  // Depthwise into projection needs no halo; chains that begin with the expansion do.
  for (const char* stages : {"1-2", "0-1", "0-2"}) {
    for (const int rows : {1, 2, 3, 4, 6}) {
      expect_as_the_reference(problem, fmt::format("strips {} b/{}", stages, rows));
    }
  }
}

TEST(Strips, ComputeAttentionAsTheReferenceDoes) {
  const Problem problem(kAttention);
  for (const int queries : {1, 2, 3, 6, 12}) {
    expect_as_the_reference(problem, fmt::format("strips 0-4 b/{}", queries));
  }
}

// A window that extends beyond its strip at the edge of the tensor must not read before the memory
// of the strip.
TEST(Strips, ReadNothingBeforeTheirMemory) {
  const Problem problem(
      "in %0 i32[1,9,13,7]\n%1 i32[1,9,13,7] = %0[a, b, c, d] + %0[a, b, c, d]\n%2 i32[1,8,14,7] = "
      "max(r:3,s:3) %1[a, (b + r) - 1, (c + s) - 2, d]?-3\nout %2\n");
  const std::vector<Tensor> expected = Evaluator(problem.workload).run(problem.inputs, 1);
  for (const Device& device : host_devices()) {
    const Policy policy = parse_policy(
        "stage 0 root; stage 1 root; strips 0-1 b/2; loops outer=2 [d:2x4] [c:2x4] [c:2x4] [c:2x4];"
        "loops outer=2 [e:4x2 d/3]",
        *problem.workload);
    for (const auto& [name, backend] : backends_for(device)) {
      const Kernel kernel(problem.workload, policy, *backend, 1);
      const GuardedMemory work(static_cast<size_t>(kernel.work_bytes()),
                               static_cast<size_t>(kWorkAlignment), GuardedMemory::Against::front,
                               "the work memory");
      Tensor found(expected[0].type());
      const void* const from = problem.inputs[0].raw();
      void* const to = found.raw();
      kernel.run_on({&from, 1}, {&to, 1}, work.elements());
      EXPECT_EQ(found.to_doubles(), expected[0].to_doubles())
          << name << ", " << device.widest_vectors();
    }
  }
}

TEST(Strips, KeepWhatLiesBetweenStagesPrivateToAThread) {
  const Problem problem(kInvertedResidual);
  const Device device = host_devices().back();
  const auto program = [&](const std::string& policy) {
    return Kernel(problem.workload, parse_policy(policy, *problem.workload, device),
                  *cpu_backend(device), 1, problem.weights)
        .program();
  };
  const auto largest = [](const Program& of, ProgramBuffer::Place place) {
    int64_t most = 0;
    for (const ProgramBuffer& buffer : of.buffers) {
      if (buffer.place == place) most = std::max(most, buffer.elements);
    }
    return most;
  };
  using Place = ProgramBuffer::Place;
  EXPECT_EQ(largest(program(""), Place::value), 12 * 10 * 48);
  const Program strips = program("strips 0-2 b/3");
  // Three rows, and one more on either side.
  EXPECT_EQ(largest(strips, Place::value), 12 * 10 * 16);
  EXPECT_EQ(largest(strips, Place::thread), 5 * 10 * 48);
  EXPECT_EQ(strips.body.back().end.expr->id, 4) << "strips";
  const Program two = program("strips 1-2 b/3");
  EXPECT_EQ(two.body.size(), 2) << "the expansion, and strips of the others";
  EXPECT_EQ(largest(two, Place::thread), 3 * 10 * 48);
}

TEST(Strips, AreOnlyForStagesThatMeetStripByStrip) {
  const Workload workload = parse_workload(kInvertedResidual);
  EXPECT_TRUE(split_into_strips(workload, {0, 2, 1, 4}));
  EXPECT_FALSE(split_into_strips(workload, {0, 2, 1, 5})) << "does not divide 12 rows";
  EXPECT_FALSE(split_into_strips(workload, {0, 2, 3, 4})) << "the projection reads all channels";
  EXPECT_FALSE(split_into_strips(workload, {0, 2, 9, 4})) << "there is no such axis";
  EXPECT_FALSE(split_into_strips(workload, {2, 1, 1, 4})) << "in this order";
  // A value between the stages is also an output.
  Workload shown = workload;
  shown.outputs.push_back(8);
  EXPECT_FALSE(split_into_strips(shown, {1, 2, 1, 4}));
  // Rows in the opposite order.
  const Workload turned = parse_workload(
      "in %0 f32[8,16]\n%1 f32[8,16] = exp(%0[a, b])\n%2 f32[8,16] = max(r:2) %1[7 - a, b] "
      "\nout %2\n");
  EXPECT_FALSE(split_into_strips(turned, {0, 1, 0, 2}));
}

TEST(Strips, StageIsInAtMostOneStrip) {
  const Workload workload = parse_workload(kInvertedResidual);
  const auto fault = [&](const std::string& policy) {
    return fault_of(parse_policy(policy, workload, host_device()).structure, workload).value_or("");
  };
  EXPECT_EQ(fault("strips 1-2 b/3"), "");
  EXPECT_NE(fault("strips 1-2 b/3; strips 0-1 b/2").find("stages 0 to 1 cannot"),
            std::string::npos);
  EXPECT_NE(fault("strips 0-1 b/2; strips 0-2 b/2").find("stages 0 to 2 cannot"),
            std::string::npos);
  std::string many;
  for (int i = 0; i < 20000; ++i) many += "strips 0-1 b/2\n";
  EXPECT_NE(fault(many).find("two loops over strips"), std::string::npos);
}

TEST(Strips, ReachBeyondTheEdgeByNoMoreThanTheAxis) {
  const auto workload = [](const std::string& index) {
    return parse_workload(
        fmt::format("in %0 f32[12,8]\n%1 f32[12,8] = exp(%0[a, b])\n%2 f32[12,8] "
                    "= %1[a, b] + %1[{}, b]?0\nout %2\n",
                    index));
  };
  EXPECT_TRUE(split_into_strips(workload("a + 12"), {0, 1, 0, 3}));
  EXPECT_TRUE(split_into_strips(workload("a - 12"), {0, 1, 0, 3}));
  EXPECT_FALSE(split_into_strips(workload("a + 1000000000"), {0, 1, 0, 3}));
  EXPECT_FALSE(split_into_strips(workload("a - 1000000000000000000"), {0, 1, 0, 3}));
  EXPECT_FALSE(split_into_strips(workload("a * 100000000000000000"), {0, 1, 0, 3}));
}

TEST(Strips, TellZerosOutsideApart) {
  const Workload workload = parse_workload(
      "in %0 f32[12,8]\n%1 f32[12,8] = exp(%0[a, b])\n%2 f32[12,8] = (1 / %1[a - 1, b]?-0) + (2 / "
      "%1[a + 1, b]?0)\nout %2\n");
  EXPECT_FALSE(split_into_strips(workload, {0, 1, 0, 3}));
}

TEST(Strips, DoNotRunByWinograd) {
  // Rows of strips must not be mistaken for a batch.
  const Problem problem(
      "in %0 f32[12,12,8]\nweight %1 f32[16,8,3,3]\n%2 f32[12,12,8] = exp(%0[a, b, c]) + %0[a, b, "
      "c]\n%3 f32[12,12,16] = sum(r:8,s:3,t:3) %2[(a + s) - 1, (b + t) - 1, r]?0 * %1[c, r, s, "
      "t]\nout %3\n");
  expect_as_the_reference(problem, "stage 1 winograd2; strips 0-1 a/4");
}

TEST(Programs, AcceptOlderPolicyTexts) {
  // Policies as stored in older banks and .om files.
  const Problem problem(
      "in %0 f32[2,8,18,18]\nweight %1 f32[16,8,3,3]\n%2 f32[2,16,16,16] = sum(r:8,s:3,t:3) %0[a, "
      "r, c + s, d + t] * %1[b, r, s, t]\nout %2\n");
  const std::string text = "product tile=4x2x4 block=72x64 first=rows\n";
  const Policy policy = parse_policy(text, *problem.workload);
  EXPECT_EQ(to_string(policy, *problem.workload), text);
  const auto& product = std::get<ProductPolicy>(policy.items[0]);
  EXPECT_EQ(product.share, Share::automatic);
  EXPECT_EQ(product.strip, 0);
  EXPECT_TRUE(product.packing.loops.empty());
  expect_as_the_reference(problem, text);
}

TEST(Programs, PackAndShareAsThePolicySays) {
  const Problem problem(
      "in %0 f32[2,8,18,18]\nweight %1 f32[16,8,3,3]\n%2 f32[2,16,16,16] = sum(r:8,s:3,t:3) %0[a, "
      "r, c + s, d + t] * %1[b, r, s, t]\nout %2\n");
  const std::string product = "product tile=4x2x4 block=72x64 first=rows";
  for (const char* more : {" share=rows", " share=blocks", " share=columns", " pack [f:4x2]",
                           " pack []", " share=rows pack [f:2 d/2]"}) {
    const std::string text = product + more + "\n";
    EXPECT_EQ(to_string(parse_policy(text, *problem.workload), *problem.workload), text);
    expect_as_the_reference(problem, text);
  }
}

TEST(Programs, ShareProductsAsThePolicySays) {
  const Problem problem(
      "in %0 f32[64,512]\nweight %1 f32[512,256]\n%2 f32[64,256] = sum(r:512) "
      "%0[a, r] * %1[r, b]\nout %2\n");
  const Device device = host_devices().front();
  // Number of tasks, and whether each is a part of the rows.
  const auto shared = [&](const std::string& how) {
    const Policy policy = parse_policy(
        "product tile=4x2x4 block=512x256 first=columns share=" + how, *problem.workload);
    const Kernel kernel(problem.workload, policy, *cpu_backend(device), 2, problem.weights);
    const For& loop = kernel.program().body[0];
    return std::pair(loop.end.expr->id,
                     static_cast<bool>(std::get<ProductCall>(loop.body[0]).first_tile));
  };
  EXPECT_EQ(shared("blocks"), std::pair(int64_t{1}, false));
  EXPECT_EQ(shared("rows"), std::pair(int64_t{2}, true));
  EXPECT_EQ(shared("columns"), std::pair(int64_t{2}, false));
}

TEST(Programs, MultiplyByRowsOfTheTableThatTheProcessorRuns) {
  for (const Device& device : host_devices()) {
    const Dot* const dot = dot_of(DType::f32, device);
    ASSERT_NE(dot, nullptr);
    EXPECT_EQ(dot->fused, device.has(Feature::fma));
    EXPECT_EQ(dot->lanes(device.vector_bytes), device.vector_bytes / 4);
    EXPECT_EQ(dot_of(DType::boolean, device), nullptr);
  }
}

TEST(PackedWeights, KeepIntegersThatDoublesDoNotHave) {
  PackedWeights packed;
  packed.depth = 2;
  packed.width = 2;
  packed.depth_stride = 1;
  packed.width_stride = 2;  // transposed
  packed.panel = 2;
  const int64_t large = (int64_t{1} << 62) + 1;
  const Tensor made = pack(packed, Tensor::of<int64_t>({large, 2, 3, large + 2}, {2, 2}));
  const std::vector<int64_t> expected{large, 3, 2, large + 2};
  EXPECT_TRUE(std::equal(expected.begin(), expected.end(), made.data<int64_t>()));
}

TEST(PackedWeights, AreSumsOfPartsInPanels) {
  // A matrix of two parts of 2 x 3, side by side.
  PackedWeights packed;
  packed.depth = 2;
  packed.width = 3;
  packed.depth_stride = 6;
  packed.parts = {0, 3};
  packed.factors = {1, 0, 1, -1};
  packed.panel = 2;
  const Tensor plain = Tensor::of<float>({1, 2, 3, 10, 20, 30, 4, 5, 6, 40, 50, 60}, {2, 6});
  const Tensor made = pack(packed, plain);
  const std::vector<double> expected{1, 2, 4, 5, -9, -18, -36, -45, 3, 0, 6, 0, -27, 0, -54, 0};
  EXPECT_EQ(made.to_doubles(), expected);
  EXPECT_EQ(packed.elements(), made.count());
}

}  // namespace
}  // namespace aoe

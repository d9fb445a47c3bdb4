#include <fmt/format.h>
#include <gtest/gtest.h>

#include <set>

#include "backend/kernel.h"
#include "base/error.h"
#include "codegen/cpu_backend.h"
#include "expr/parse.h"
#include "policy/policy_text.h"
#include "policy/space.h"
#include "policy/validate.h"

namespace aoe {
namespace {

constexpr const char* kSoftmax = R"(in %0 f32[12,50]
%1 f32[12] = max(r:50) %0[a, r]
%2 f32[12] = sum(r:50) exp(%0[a, r] - %1[a])
%3 f32[12,50] = exp(%0[a, b] - %1[a]) / %2[a]
out %3
)";
constexpr const char* kProduct = R"(in %0 f32[48,64]
weight %1 f32[64,80]
%2 f32[48,80] = sum(r:64) %0[a, r] * %1[r, b]
out %2
)";

std::shared_ptr<const Workload> workload_of(const char* text) {
  return std::make_shared<const Workload>(parse_workload(text));
}

std::string message_of(const char* workload, const std::string& text) {
  try {
    const auto parsed = workload_of(workload);
    const Policy policy = parse_policy(text, *parsed);
    const auto fault = validate(policy, *parsed, narrowed(host_device(), Feature::sse2));
    return fault.value_or("");
  } catch (const Error& error) {
    return error.what();
  }
}

TEST(PolicyText, SaysWhatIsWrongAndWhere) {
  struct Case {
    const char* workload;
    const char* text;
    const char* message;
  };
  const std::string tile = "product tile=4x2x4 block=64x80 ";
  for (const auto& [workload, text, message] : std::vector<Case>{
           {kProduct, "", "line 1, column 1: 1 more 'loops' or 'product' expected"},
           {kProduct, "frobnicate",
            "column 1: 'threads', 'stage', 'strips', 'loops' or 'product' is"},
           {kProduct, "strips 0-7 a/2", "stage 7; the workload has 1, counted from 0"},
           {kSoftmax, "strips 0+2 a/2", "'-' and the last stage expected, not '+'"},
           {kSoftmax, "strips 0-2 q/2", "one of the 2 axes of stage 2 is expected, not 'q'"},
           {kSoftmax, "strips 0-2 a:2", "'/' and the rows of a strip expected, not ':'"},
           {kProduct, "product tile=4x2x4 block=64x80 first=rows share=all",
            "'rows', 'columns' or 'blocks' is expected, not 'all'"},
           {kProduct, "product tile=4x2x4 block=64x80 first=rows pack [a:4]",
            "nothing is packed here"},
           {kProduct, "loops outer=0 []", "is a contraction: 'product' is expected"},
           {kSoftmax, "product tile=1x1x1", "is a nest: 'loops' is expected"},
           {kProduct, "product tile=4x2", "line 1, column 17: 'x' and a number expected, not the"},
           {kProduct, "product tile=99999999999x2", "a number up to 2147483647 is expected"},
           {kProduct, "product tile=-4x2x4", "a number is expected, not '-'"},
           {kProduct, "product block=1x1", "column 9: 'tile=' is expected, not 'block'"},
           {kProduct, "stage 7 root", "stage 7; the workload has 1, counted from 0"},
           {kProduct, "stage 0 moon",
            "'direct', 'winograd2', 'winograd4' or 'strassen' is expected, not 'moon'"},
           {kProduct, "stage 0 loops; loops outer=0 [q:4]", "one of them, 'stream' or ']'"},
           {kProduct, "stage 0 loops; loops outer=0 [b:4 a:4]", "one vector axis only"},
           {kProduct, "product tile=4x2x4 block=64x80 first=last",
            "'rows' or 'columns' is expected"},
           {kProduct, "product tile=4x2x4 block=64x80 first=rows; product", "no more than 1 items"},
           // These parse, but must not be compiled.
           {kProduct, "product tile=40x2x4 block=64x80 first=rows", "1 to 14 are expected"},
           {kProduct, "product tile=14x8x4 block=64x80 first=rows",
            "does not fit into 16 registers"},
           {kProduct, "product tile=4x2x3 block=64x80 first=rows", "a power of two up to 4"},
           {kProduct, "product tile=4x2x64 block=64x80 first=rows", "a power of two up to 4"},
           {kProduct, "product tile=4x2x4 block=65x80 first=rows", "blocks 65 deep"},
           {kProduct, "product tile=4x2x4 block=0x80 first=rows", "blocks 0 deep"},
           {kProduct, "product tile=4x2x4 block=64x12 first=rows", "a multiple of 8 below it"},
           {kProduct, "threads 5000; product tile=4x2x4 block=64x80 first=rows", "5000 threads"},
           {kProduct, "stage 0 loops; loops outer=2 [b:4]", "2 outer axes; 0 to 1 are expected"},
           {kProduct, "stage 0 loops; loops outer=0 [b:4x99]", "1 to 32 are expected"},
           {kProduct, "stage 0 loops; loops outer=0 [b:4 a/17]", "blocks of 17"},
           {kProduct, "stage 0 loops; loops outer=0 [b:4x16 a/16]", "too large"},
           {kProduct, "stage 0 loops; loops outer=0 [r:4 stream]", "past the caches"},
           {kProduct, "stage 0 loops; loops outer=0 [b:4 b/2]", "b cannot be cut into blocks"},
           {kSoftmax, "stage 0 winograd4; loops outer=1 [r:4] [r:4] [b:4]",
            "stage 0: winograd4 is for convolutions of 3 x 3 with channels last"},
           {kProduct, "stage 0 winograd2; product tile=4x2x4 block=64x80 first=rows",
            "stage 0: winograd2 is for convolutions"},
           {kSoftmax, "stage 0 strassen; loops outer=1 [r:4] [r:4] [b:4]",
            "stage 0: strassen is for products of f32 with one matrix of weights"},
           {kProduct, "stage 0 strassen; product tile=4x2x4 block=64x80 first=rows",
            "which must divide 40 columns, and 32 deep is expected"},
           {kProduct, "stage 0 strassen; product tile=4x2x4 block=32x8 first=rows",
            "first=columns without stream is expected"},
           {kProduct, "product tile=4x2x4 block=64x80 first=rows strip=2",
            "strips are for Winograd's and Strassen's algorithms"},
           {kSoftmax, "strips 0-2 a/5; loops outer=1 [r:4] [r:4] [b:4]",
            "stages 0 to 2 cannot be computed by strips of 5 along a"},
           {kSoftmax, "strips 0-2 b/2; loops outer=1 [r:4] [r:4] [b:4]",
            "stages 0 to 2 cannot be computed by strips of 2 along b"},
           {kSoftmax, "stage 2 direct; loops outer=1 [r:4] [r:4] [b:4]",
            "stage 2: direct is for windows with steps"},
       }) {
    EXPECT_NE(message_of(workload, text).find(message), std::string::npos)
        << text << "\n  " << message_of(workload, text);
  }
  EXPECT_EQ(message_of(kProduct, tile + "first=rows"), "");
}

TEST(PolicyText, AnyCutOrFlipOfATextIsReadOrRefused) {
  const auto workload = workload_of(kSoftmax);
  const Device device = narrowed(host_device(), Feature::sse2);
  const std::string text =
      "threads 1\nstage 2 root\nloops outer=1 [r:4x4] [r:4]\nloops outer=0 [b:4 a/4]\n";
  ASSERT_EQ(to_string(parse_policy(text, *workload), *workload), text);
  Random random(1);
  for (int round = 0; round < 3000; ++round) {
    std::string broken = text;
    for (uint64_t i = random() % 3 + 1; i > 0; --i) {
      const size_t at = random() % broken.size();
      if (random() % 3 == 0) broken.erase(at, random() % 5);
      else
        broken[at] =
            static_cast<char>(random() % 3 == 0 ? random() % 256 : text[random() % text.size()]);
      if (broken.empty()) broken = " ";
    }
    try {
      const Policy policy = parse_policy(broken, *workload);
      if (!validate(policy, *workload, device)) {
        EXPECT_EQ(parse_policy(to_string(policy, *workload), *workload), policy);
      }
    } catch (const Error& refused) {
      EXPECT_STRNE(refused.what(), "");
    }
  }
}

class Spaces : public testing::TestWithParam<const char*> {};

TEST_P(Spaces, HoldValidPoliciesOnly) {
  const auto workload = workload_of(GetParam());
  for (const Feature set : host_device().vector_features()) {
    const Device device = narrowed(host_device(), set);
    const Space space(workload, device);
    const auto check = [&](const Policy& policy) {
      EXPECT_EQ(validate(policy, *workload, device).value_or(""), "")
          << to_string(policy, *workload);
      EXPECT_EQ(parse_policy(to_string(policy, *workload), *workload), policy);
    };
    check(space.default_policy());
    EXPECT_EQ(space.default_policy(), default_policy(*workload, device));
    EXPECT_GT(space.size(), 100);
    Random random(2);
    std::set<std::string> seen;
    Policy before = space.default_policy();
    for (int i = 0; i < 100; ++i) {
      const Policy policy = space.sample(random);
      seen.insert(to_string(policy, *workload));
      check(policy);
      check(space.mutate(policy, random));
      check(space.crossover(policy, before, random));
      before = policy;
    }
    EXPECT_GT(seen.size(), 50);
    for (const Policy& policy : space.neighbours(space.default_policy())) {
      EXPECT_NE(policy, space.default_policy());
      check(policy);
    }
  }
}

// Choosing the decisions of a policy one by one leads to that policy.
TEST_P(Spaces, AreChainsOfDecisions) {
  const auto workload = workload_of(GetParam());
  const Space space(workload, host_device());
  Random random(3);
  for (int i = 0; i < 20; ++i) {
    const Policy aim = space.sample(random);
    const std::vector<Decision> chain = space.decisions(aim);
    Policy policy = space.default_policy();
    for (size_t d = 0; d < chain.size(); ++d) {
      const std::vector<Decision> now = space.decisions(policy);
      ASSERT_LT(d, now.size());
      EXPECT_EQ(now[d].name, chain[d].name);
      const std::string& wanted = chain[d].options[chain[d].chosen];
      const auto& options = now[d].options;
      const auto found = std::find(options.begin(), options.end(), wanted);
      ASSERT_NE(found, options.end()) << now[d].name << ": " << wanted;
      policy = space.with(policy, d, static_cast<size_t>(found - options.begin()));
    }
    EXPECT_EQ(to_string(policy, *workload), to_string(aim, *workload));
  }
}

constexpr const char* kChannelsLast = R"(in %0 f32[1,8,8,32]
weight %1 f32[32,32,3,3]
%2 f32[1,8,8,32] = sum(r:32,s:3,t:3) %0[a, (b + s) - 1, (c + t) - 1, r]?0 * %1[d, r, s, t]
out %2
)";
constexpr const char* kChannelsFirst = R"(in %0 f32[1,16,9,9]
weight %1 f32[8,16,3,3]
%2 f32[1,8,9,9] = sum(r:16,s:3,t:3) %0[a, r, (c + s) - 1, (d + t) - 1]?0 * %1[b, r, s, t]
%3 f32[1,8,9,9] = exp(%2[a, b, c, d])
out %3
)";
constexpr const char* kDepthwise = R"(in %0 f32[1,16,28,28]
weight %1 f32[16,1,3,3]
%2 f32[1,16,14,14] = sum(r:3,s:3) %0[a, b, ((c * 2) + r) - 1, ((d * 2) + s) - 1]?0 * %1[b, 0, r, s]
out %2
)";
INSTANTIATE_TEST_SUITE_P(Policies, Spaces,
                         testing::Values(kSoftmax, kProduct, kChannelsLast, kChannelsFirst,
                                         kDepthwise));

TEST(Kernel, RefusesAPolicyThatIsNotValid) {
  const auto workload = workload_of(kSoftmax);
  Policy policy = default_policy(*workload, host_device());
  std::get<NestPolicy>(policy.items[0]).loops[0].lanes = 3;
  EXPECT_THROW(Kernel(workload, policy, *host_backend(), 1), Error);
}

}  // namespace
}  // namespace aoe

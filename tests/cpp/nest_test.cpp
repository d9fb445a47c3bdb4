#include <fmt/format.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "backend/kernel.h"
#include "codegen/cpu_backend.h"
#include "expr/parse.h"
#include "policy/policy_text.h"

// Golden tests: a workload and a policy in, the loop nest out. Cases are files in tests/nests: the
// workload, a line "---", the policy (empty for the default), "---" and the nest. On a mismatch the
// test writes the updated case to the build folder and prints its path; copy it over the old one to
// accept it.

namespace aoe {
namespace {

namespace fs = std::filesystem;

const fs::path kCases = fs::path(AOE_TESTS) / "nests";

std::string read(const fs::path& file) {
  std::ifstream stream(file);
  std::ostringstream text;
  text << stream.rdbuf();
  return text.str();
}

class Nests : public testing::TestWithParam<std::string> {};

TEST_P(Nests, MatchGoldenText) {
  const Device& host = host_device();
  if (!host.has(Feature::avx2)) GTEST_SKIP() << "needs AVX2";
  // Default policies depend on caches and micro-architecture: fix them.
  Device device = narrowed(host, Feature::avx2);
  device.caches = {Cache{32 << 10, 64, 1}, Cache{1 << 20, 64, 1}, Cache{32 << 20, 64, 2}};
  device.cores = 2;
  device.micro_architecture = "generic";

  const std::string text = read(kCases / GetParam());
  const std::string bar = "---\n";
  const size_t first = text.find(bar);
  const size_t second = text.find(bar, first + bar.size());
  ASSERT_NE(second, std::string::npos) << "a case has three parts";
  const std::string workload_text = text.substr(0, first);
  const std::string policy_text = text.substr(first + bar.size(), second - first - bar.size());

  const auto workload = std::make_shared<const Workload>(parse_workload(workload_text));
  std::vector<Tensor> weights;
  for (const int id : workload->inputs) {
    const Workload::Value& value = workload->values[static_cast<size_t>(id)];
    weights.push_back(value.weight ? Tensor::zeros(value.type) : Tensor{});
  }
  const Policy policy = policy_text.empty() ? default_policy(*workload, device)
                                            : parse_policy(policy_text, *workload);
  if (!policy_text.empty()) {
    EXPECT_EQ(to_string(policy, *workload), policy_text);
  }
  const std::string nest =
      to_string(Kernel(workload, policy, *cpu_backend(device), 1, weights).program());
  if (nest == text.substr(second + bar.size())) return;
  const fs::path actual = fs::temp_directory_path() / ("aoe_nest_" + GetParam());
  std::ofstream(actual) << text.substr(0, second + bar.size()) << nest;
  ADD_FAILURE() << nest << "\nIf this is meant: cp " << actual.string() << " "
                << (kCases / GetParam()).string();
}

std::vector<std::string> cases() {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(kCases)) {
    names.push_back(entry.path().filename().string());
  }
  std::sort(names.begin(), names.end());
  return names;
}

INSTANTIATE_TEST_SUITE_P(Golden, Nests, testing::ValuesIn(cases()),
                         [](const auto& info) { return fs::path(info.param).stem().string(); });

}  // namespace
}  // namespace aoe

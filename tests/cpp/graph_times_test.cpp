#include <gtest/gtest.h>

#include <cstring>
#include <fstream>

#include "bank/bank.h"
#include "base/hash.h"
#include "codegen/cpu_backend.h"
#include "plan/task_times.h"
#include "runtime/stored_policies.h"
#include "tests/cpp/small_networks.h"
#include "tests/cpp/temporary_folder.h"

namespace aoe {
namespace {

// Returns the name under which the times of two_convolutions are stored.
std::string graph_name() {
  Graph graph = two_convolutions();
  std::string name;
  plan_of(graph, host_device(), [&](const std::string& text) {
    name = text;
    return TaskCost();
  });
  return name;
}

// Returns whether the value between the two convolutions has a blocked layout.
bool is_blocked(const std::string& text) { return text.find(",6,6,16]") != text.npos; }

bool is_blocked(const LoadedModel& model) {
  const auto kernels = model.executable()->kernels();
  return std::any_of(kernels.begin(), kernels.end(),
                     [](const auto& kernel) { return is_blocked(to_string(kernel->workload())); });
}

// Task times that favour blocked layouts.
std::string times_for_blocks() {
  std::vector<std::pair<Workload, double>> measured;
  for (const LayoutTask& task : layout_tasks(two_convolutions(), host_device())) {
    for (const Workload& way : task.variants) {
      const std::string text = to_string(way);
      const double convolution_ns = is_blocked(text) ? 200 : 1000;
      measured.emplace_back(way, way.stages[0].reducer ? convolution_ns : 100);
    }
  }
  return to_string(task_times(measured, host_device()));
}

// Sets the folder of the banks for its lifetime.
class BankFolder {
 public:
  BankFolder() { setenv("TUNE_BANK_PATH", folder_.path().c_str(), 1); }
  ~BankFolder() { unsetenv("TUNE_BANK_PATH"); }

  void put(const std::string& times) const {
    const std::string soc_version = host_device().soc_version();
    Bank bank = Bank::for_writing(custom_bank(BankKind::graphs, soc_version), soc_version);
    BankEntry entry;
    entry.workload = graph_name();
    entry.target = target_of(host_device(), 1);
    entry.policy = times;
    entry.gain = {.before_ns = 2, .after_ns = 1, .speedup_low = 1.9, .speedup_high = 2.1};
    ASSERT_TRUE(bank.put(entry, std::nullopt));
  }

 private:
  TemporaryFolder folder_;
};

std::vector<float> results(const LoadedModel& model) {
  CallMemory memory(model);
  model.run_into(memory.inputs(), memory.outputs());
  const std::string bits = memory.bits();
  std::vector<float> numbers(bits.size() / sizeof(float));
  std::memcpy(numbers.data(), bits.data(), bits.size());
  return numbers;
}

TEST(GraphTimes, DecideOnTheLayoutsOfAModelThatIsLoaded) {
  const BankFolder bank;
  const LoadedModel before = loaded(two_convolutions_network(), {.threads = 1});
  EXPECT_FALSE(is_blocked(before));
  bank.put(times_for_blocks());
  const LoadedModel after = loaded(two_convolutions_network(), {.threads = 1});
  EXPECT_TRUE(is_blocked(after));
  const std::vector<float> is = results(after);
  const std::vector<float> was = results(before);
  ASSERT_EQ(is.size(), was.size());
  for (size_t i = 0; i < is.size(); ++i) EXPECT_NEAR(is[i], was[i], 1e-3) << i;
  // Times are stored for one thread.
  EXPECT_FALSE(is_blocked(loaded(two_convolutions_network(), {.threads = 2})));
  // Explicitly given times take precedence.
  EXPECT_FALSE(
      is_blocked(loaded(two_convolutions_network(),
                        {.threads = 1, .graph_times = {{graph_name(), to_string(TaskTimes{})}}})));
}

TEST(GraphTimes, ThatCannotBeReadAreNotUsed) {
  const BankFolder bank;
  bank.put("not times");
  testing::internal::CaptureStderr();
  EXPECT_FALSE(is_blocked(loaded(two_convolutions_network(), {.threads = 1})));
  EXPECT_NE(testing::internal::GetCapturedStderr().find("task times"), std::string::npos);
}

TEST(GraphTimes, GoWithTheOmFile) {
  const TemporaryFolder folder;
  const auto file = folder.path() / "model.onnx";
  std::ofstream(file, std::ios::binary) << two_convolutions_network().bytes();
  const LoadOptions options{.threads = 1, .graph_times = {{graph_name(), times_for_blocks()}}};
  const OmModel compiled = LoadedModel::compiled(file, options, host_backend()).model;
  EXPECT_EQ(compiled.policies.at(stable_hash(graph_name())), times_for_blocks());
  const auto om = folder.path() / "model.om";
  write_om(om, compiled);
  EXPECT_TRUE(is_blocked(LoadedModel::from_file(om, {.threads = 1}, host_backend())));
  EXPECT_FALSE(is_blocked(LoadedModel::from_file(file, {.threads = 1}, host_backend())));
}

}  // namespace
}  // namespace aoe

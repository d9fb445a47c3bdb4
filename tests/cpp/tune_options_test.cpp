#include <gtest/gtest.h>

#include <fstream>
#include <functional>

#include "base/error.h"
#include "tests/cpp/error_message.h"
#include "tests/cpp/temporary_folder.h"
#include "tune/setup/preconditions.h"
#include "tune/setup/settings.h"

namespace aoe {
namespace {

Environment environment_of(const std::map<std::string, std::string>& variables) {
  return [variables](const char* name) {
    const auto found = variables.find(name);
    return found == variables.end() ? std::string() : found->second;
  };
}

TEST(SettingsTest, TheEnvironmentIsRead) {
  TuneOptions options;
  read_settings(environment_of({{"ASCEND_WORK_PATH", "/results"},
                                {"TE_PARALLEL_COMPILER", "32"},
                                {"TUNING_PARALLEL_NUM", "3"},
                                {"REPEAT_TUNE", "tRuE"},
                                {"ASCEND_DEVICE_ID", "0"}}),
                options);
  EXPECT_EQ(options.result_dir, "/results");
  EXPECT_EQ(options.work_path, ".");
  EXPECT_EQ(options.compile_jobs, 32);
  EXPECT_EQ(options.measure_jobs, 3);
  EXPECT_TRUE(options.repeat_tune);
}

TEST(SettingsTest, WhatIsWrongInItIsNamed) {
  const std::pair<const char*, const char*> cases[] = {
      {"TE_PARALLEL_COMPILER", "33"}, {"TE_PARALLEL_COMPILER", "0"}, {"TUNING_PARALLEL_NUM", "65"},
      {"TUNING_PARALLEL_NUM", "2x"},  {"REPEAT_TUNE", "yes"},        {"ASCEND_DEVICE_ID", "1"},
      {"AOE_CONFIG", "/nowhere.ini"}, {"TUNING_PARALLEL_NUM", "-1"}};
  for (const auto& [name, value] : cases) {
    TuneOptions options;
    const std::string message =
        message_of([&] { read_settings(environment_of({{name, value}}), options); });
    EXPECT_NE(message.find(name), std::string::npos) << message;
    EXPECT_NE(message.find(value), std::string::npos) << message;
  }
}

TEST(SettingsTest, AutoTunesModesSayWhatIsTuned) {
  EXPECT_EQ(parse_auto_tune_mode("NO_TUNE"), (TunedKinds{false, false}));
  EXPECT_EQ(parse_auto_tune_mode("GA"), (TunedKinds{.cube = true, .vector = false}));
  EXPECT_EQ(parse_auto_tune_mode("RL"), (TunedKinds{.cube = false, .vector = true}));
  EXPECT_EQ(parse_auto_tune_mode("RL,GA"), (TunedKinds{}));
  EXPECT_EQ(parse_auto_tune_mode("GA,RL"), (TunedKinds{}));
  for (const char* wrong : {"", "ga", "GA,GA", "RL GA"}) {
    EXPECT_NE(message_of([&] { parse_auto_tune_mode(wrong); }).find("--auto_tune_mode"),
              std::string::npos);
  }
}

TEST(SettingsTest, TheFileIsReadAndTheEnvironmentWins) {
  const TemporaryFolder folder;
  const std::string file = (folder.path() / "aoe" / "aoe.ini").string();
  std::filesystem::create_directories(folder.path() / "aoe");
  std::ofstream(file) << "# how we work\n[aoe]\nWORK_PATH = /work ; ours\nTUNING_PARALLEL_NUM=4\r\n"
                         "RUN_LOOP=2048\n";
  TuneOptions options;
  read_settings(environment_of({{"XDG_CONFIG_HOME", folder.path()}, {"TUNING_PARALLEL_NUM", "2"}}),
                options);
  EXPECT_EQ(options.work_path, "/work");
  EXPECT_EQ(options.result_dir, "/work");
  EXPECT_EQ(options.measure_jobs, 2);
  EXPECT_EQ(options.run_loop, 2048);
}

TEST(SettingsTest, WhatIsWrongInTheFileIsNamedWithItsLine) {
  const std::pair<const char*, const char*> cases[] = {
      {"RUN_LOOP=0", "line 2: RUN_LOOP is '0'"},
      {"RUN_LOOP", "line 2: 'RUN_LOOP' is not NAME = VALUE"},
      {"LOOP_RUN=1", "line 2: LOOP_RUN is not known"},
      {"WORK_PATH=", "line 2: WORK_PATH is empty"}};
  for (const auto& [line, expected] : cases) {
    TuneOptions options;
    const std::string message =
        message_of([&] { read_ini(std::string("\n") + line, "aoe.ini", options); });
    EXPECT_NE(message.find(expected), std::string::npos) << message;
  }
}

TEST(SettingsTest, BudgetsAreTimes) {
  EXPECT_EQ(parse_budget("90s"), 90);
  EXPECT_EQ(parse_budget("10m"), 600);
  EXPECT_EQ(parse_budget("1.5h"), 5400);
  for (const char* text : {"", "90", "s", "-1s", "0s", "10 m", "10min", "1e300h", "nans", "infs"}) {
    EXPECT_NE(message_of([&] { parse_budget(text); }).find("--budget"), std::string::npos) << text;
  }
}

// A machine without obstacles to tuning.
constexpr int64_t kGb = 1000000000;
HostState fine() {
  return {.model_bytes = kGb / 10,
          .free_memory_bytes = 8 * kGb,
          .usable_cores = 96,
          .allowed_cpus = 96,
          .processors = 96,
          .folders = {{"the bank (TUNE_BANK_PATH)", "/banks", true, true, 20 * kGb}}};
}
TuneOptions some_options() {
  TuneOptions options;
  options.banks.custom = {{"/banks/x86_64_znver4/op.db", "/banks/x86_64_znver4/graph.db"}};
  return resolved(options, fine());
}

TEST(PreconditionsTest, NothingIsFoundWhereAllIsWell) {
  EXPECT_TRUE(findings(some_options(), fine()).empty());
  // A layer that is only read need not be writable, nor have any space.
  HostState with_layer = fine();
  with_layer.folders.push_back(
      {.what = "a bank", .path = "/team", .exists = true, .only_read = true});
  EXPECT_TRUE(findings(some_options(), with_layer).empty());
}

TEST(PreconditionsTest, EachSaysWhatWasFoundAndWhatIsAsked) {
  struct Case {
    std::function<void(HostState&, TuneOptions&)> change;
    bool obstacle;
    std::vector<std::string> words;
  };
  const Case cases[] = {
      {[](auto& found, auto&) { found.folders[0].exists = false; },
       true,
       {"/banks", "TUNE_BANK_PATH", "does not exist"}},
      {[](auto& found, auto&) { found.folders[0].writable = false; }, true, {"/banks", "writable"}},
      {[](auto& found, auto&) {
         found.folders.push_back({.what = "a bank", .path = "/team", .only_read = true});
       },
       true,
       {"/team", "does not exist"}},
      {[](auto& found, auto&) { found.folders[0].free_bytes = kGb / 2; },
       true,
       {"/banks", "0.50 GB free", "0.64 GB"}},
      {[](auto& found, auto&) { found.free_memory_bytes = kGb / 2; },
       true,
       {"0.50 GB of memory", "0.57 GB"}},
      {[](auto& found, auto& options) {
         found.free_memory_bytes = kGb;
         options.measure_jobs = 4;
       },
       true,
       {"1.00 GB of memory", "4 at a time", "1.47 GB"}},
      {[](auto&, auto& options) { options.threads = 97; }, true, {"--aicore_num is 97", "96"}},
      {[](auto&, auto& options) { options.banks.custom.clear(); }, true, {"TUNE_BANK_PATH"}},
      {[](auto& found, auto&) { found.allowed_cpus = 95; }, false, {"bound to 95", "96"}},
      {[](auto&, auto& options) {
         options.compile_jobs = 32;
         options.measure_jobs = 7;
       },
       false,
       {"96 cores may be used; 97"}},
  };
  for (const Case& one : cases) {
    HostState found = fine();
    TuneOptions options = some_options();
    one.change(found, options);
    const std::vector<Finding> all = findings(options, found);
    ASSERT_EQ(all.size(), 1U) << one.words[0];
    EXPECT_EQ(all[0].obstacle, one.obstacle);
    for (const std::string& word : one.words) {
      EXPECT_NE(all[0].text.find(word), std::string::npos) << all[0].text;
    }
  }
}

TEST(PreconditionsTest, TheMachineDecidesWhatIsLeftOpen) {
  TuneOptions options;
  options.measure_jobs = 64;
  HostState found = fine();
  EXPECT_EQ(resolved(options, found).threads, 96);
  EXPECT_EQ(resolved(options, found).compile_jobs, 8);
  EXPECT_EQ(resolved(options, found).measure_jobs, 1);
  options.threads = 4;
  EXPECT_EQ(resolved(options, found).measure_jobs, 24);
  found.usable_cores = 2;
  EXPECT_EQ(resolved(options, found).compile_jobs, 2);
  EXPECT_EQ(resolved(options, found).measure_jobs, 1);
}

}  // namespace
}  // namespace aoe

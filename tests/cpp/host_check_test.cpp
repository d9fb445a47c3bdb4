#include "measure/host/host_check.h"

#include <gtest/gtest.h>

namespace aoe {
namespace {

constexpr const char* kStat =
    "cpu  400 0 200 6000 100 10 20 70 0 0\n"
    "cpu0 100 1 50 3000 40 5 10 30 99 0\n"
    "cpu1 200 2 60 1000 20 5 10 40 0 0\n"
    "cpu10 7 7 7 7 7 7 7 7 7 7\n"
    "intr 12345 0 1\n"
    "ctxt 9\n";

TEST(HostText, AddsUpTheProcessorsAskedFor) {
  EXPECT_EQ(parse_cpu_times(kStat, {0}), (CpuTimes{166, 3040, 30}));
  EXPECT_EQ(parse_cpu_times(kStat, {0, 1}), (CpuTimes{166 + 277, 3040 + 1020, 70}));
  EXPECT_EQ(parse_cpu_times(kStat, {10}), (CpuTimes{35, 14, 7}));
  EXPECT_EQ(parse_cpu_times(kStat, {5}), CpuTimes{});
  EXPECT_EQ(parse_cpu_times("", {0}), CpuTimes{});
  // Kernels before 2.6.11 do not report stolen time.
  EXPECT_EQ(parse_cpu_times("cpu0 1 2 3 4 5 6 7", {0}), (CpuTimes{19, 9, 0}));
}

TEST(HostText, ReadsTheLoad) {
  EXPECT_EQ(parse_load("0.52 0.48 0.40 3/180 4242"), (Load{0.52, 3}));
  for (const char* text : {"", "0.52", "0.52 0.48 0.40", "x 0.48 0.40 3/180 4242"}) {
    EXPECT_FALSE(parse_load(text)) << text;
  }
}

TEST(HostCheck, TellsOthersFromThisProcess) {
  // Two processors for one second at 100 ticks: one busy with this process, half of the other with
  // others.
  const TimeShares shares = shares_between({1000, 5000, 100}, {1150, 5040, 110}, 1.0, 100);
  EXPECT_DOUBLE_EQ(shares.others, 0.25);
  EXPECT_DOUBLE_EQ(shares.stolen, 0.05);
  EXPECT_EQ(shares_between({1, 2, 3}, {1, 2, 3}, 1, 100).others, 0);      // no tick went by
  EXPECT_EQ(shares_between({0, 0, 0}, {100, 100, 0}, 5, 100).others, 0);  // ticks are coarse
}

TEST(HostCheck, WidensMarginsOnNoisyHosts) {
  HostFigures quiet;
  quiet.cores = 2;
  quiet.noise_floor = 1.004;
  quiet.clock_ghz = 3.5;
  quiet.most_clock_ghz = 3.7;
  EXPECT_EQ(margin_factor(quiet), 1);
  EXPECT_TRUE(host_notes(quiet).empty());

  HostFigures noisy = quiet;
  noisy.noise_floor = 1.035;
  EXPECT_NEAR(margin_factor(noisy), 3.5, 1e-9);
  EXPECT_EQ(host_notes(noisy),
            std::vector<std::string>{
                "the same work differs from itself by 3.5 %: only gains above 3.5 % are accepted"});

  HostFigures shared = quiet;
  shared.others_share = 0.5;
  shared.stolen_share = 0.08;
  shared.load = Load{1.25, 3};
  EXPECT_EQ(margin_factor(shared), 2);
  const std::vector<std::string> notes = host_notes(shared);
  ASSERT_EQ(notes.size(), 3u);
  EXPECT_EQ(notes[0],
            "other processes take 50 % of the 2 cores this one may use (load average 1.2)");
  EXPECT_EQ(notes[1], "the hypervisor gives 8 % of their time to other machines");
  EXPECT_EQ(notes[2], "this may disturb measurements: only gains above 2.0 % are accepted");

  HostFigures slow = quiet;
  slow.clock_ghz = 1.2;
  EXPECT_EQ(host_notes(slow), std::vector<std::string>{"a core runs at 1.2 GHz of 3.7"});
  HostFigures hopeless = quiet;
  hopeless.noise_floor = 2;
  EXPECT_EQ(margin_factor(hopeless), 10);
}

TEST(HostCheck, LooksAtThisMachine) {
  const HostFigures figures = check_host();
  EXPECT_GE(figures.cores, 1);
  EXPECT_GE(figures.noise_floor, 1);
  EXPECT_GE(figures.others_share, 0);
  EXPECT_LE(figures.others_share, 1);
  EXPECT_GE(margin_factor(figures), 1);
}

}  // namespace
}  // namespace aoe

#include <gtest/gtest.h>

#include "tests/cpp/temporary_folder.h"
#include "tests/gym/gym_report.h"

namespace aoe {
namespace {

const std::filesystem::path kFolder = std::filesystem::path(AOE_TESTS) / "gym";

const std::vector<GymSpace>& recorded_spaces() {
  static const std::vector<GymSpace> spaces = gym_spaces(kFolder / "workloads.txt", kFolder);
  return spaces;
}

TEST(Gym, EveryWorkloadIsRecordedAndReadsBack) {
  EXPECT_EQ(recorded_spaces().size(), gym_workloads(kFolder / "workloads.txt").size());
  for (const GymSpace& space : recorded_spaces()) {
    const RecordedSpace& recorded = space.recorded();
    // If changes of the product invalidate many samples, the gym must be recorded again.
    EXPECT_LT(recorded.unreadable, 0.1 * static_cast<double>(recorded.samples.size()))
        << recorded.of.name;
    // The current default must be among the remaining samples.
    EXPECT_GE(recorded.samples.size(), 50u) << recorded.of.name;
    EXPECT_EQ(recorded.samples[0].policy, space.space()->default_policy()) << recorded.of.name;
    EXPECT_EQ(recorded.samples[0].share, 1) << recorded.of.name;
  }
}

TEST(Gym, WhatIsWrittenReadsBack) {
  const TemporaryFolder folder;
  RecordedSpace written = recorded_spaces()[0].recorded();
  written.samples.resize(40);
  write_recorded(written, folder.path() / "one.txt.gz");
  const RecordedSpace read = read_recorded(written.of, folder.path() / "one.txt.gz");
  ASSERT_EQ(read.samples.size(), written.samples.size());
  for (size_t i = 0; i < read.samples.size(); ++i) {
    EXPECT_EQ(read.samples[i].policy, written.samples[i].policy);
    EXPECT_EQ(read.samples[i].share, written.samples[i].share);
    EXPECT_EQ(read.samples[i].random, written.samples[i].random);
  }
  EXPECT_EQ(read.device.caches[1].bytes, written.device.caches[1].bytes);
  EXPECT_EQ(read.device.vector_registers, written.device.vector_registers);
}

TEST(Gym, ProposalsBecomeTheNearestThatIsOpen) {
  const GymSpace& space = recorded_spaces()[0];
  const auto& samples = space.recorded().samples;
  std::vector<bool> open(samples.size(), true);
  EXPECT_EQ(space.nearest(samples[7].policy, open), 7u);
  open[7] = false;
  const auto other = space.nearest(samples[7].policy, open);
  ASSERT_TRUE(other);
  EXPECT_NE(*other, 7u);
  EXPECT_EQ(space.nearest(samples[7].policy, std::vector<bool>(samples.size())), std::nullopt);
}

TEST(Gym, CountsSamplesUntilAPartOfTheGapIsClosed) {
  const Curve curve{1, 0.95, 0.95, 0.7, 0.6};
  EXPECT_EQ(samples_until(curve, 0.5, 0.1), 1u);
  EXPECT_EQ(samples_until(curve, 0.5, 0.8), 4u);
  EXPECT_EQ(samples_until(curve, 0.5, 0.9), 5u);  // never
  EXPECT_EQ(samples_until(curve, 1, 0.8), 0u);
}

#if defined(__SANITIZE_ADDRESS__)

// All spaces take half an hour under a sanitizer. Two operators take every path through the
// searchers; the bounds below are for all ten.
TEST(Gym, SearchersWorkInTheSpacesOfACubeAndAVectorOperator) {
  std::vector<GymSpace> spaces;
  for (const GymSpace& space : recorded_spaces()) {
    const std::string& family = space.recorded().of.family;
    if (family == "product" || family == "softmax") spaces.push_back(space);
  }
  const GymReport report = gym_report(spaces, GymExtent::as_in_jobs);
  EXPECT_LE(report.median_samples("genetic", true), report.median_samples("random", true));
  EXPECT_LE(report.median_samples("tree", false), report.median_samples("random", false));
}

#else

// Regression bounds: the results of the searchers when this was written, with some slack. `make
// gym` prints the whole table.
TEST(Gym, SearchersAreAsGoodAsTheyWere) {
  const GymReport report = gym_report(recorded_spaces(), GymExtent::as_in_jobs);
  const auto cube = [&](const char* search) { return report.median_samples(search, true); };
  const auto vector = [&](const char* search) { return report.median_samples(search, false); };
  EXPECT_LE(cube("genetic"), 64);
  EXPECT_LE(cube("genetic"), cube("random") / 4);
  EXPECT_LE(vector("tree"), 16);
  EXPECT_LE(vector("tree"), vector("random") / 4);
  EXPECT_LE(report.median_samples("bank"), 8);
}

#endif

}  // namespace
}  // namespace aoe

#include "device/device.h"

#include <gtest/gtest.h>
#include <sched.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <fstream>
#include <thread>

#include "base/error.h"
#include "device/caches.h"
#include "device/cores.h"
#include "device/identity.h"
#include "device/measure.h"
#include "device/probe.h"
#include "device/system_text.h"

namespace aoe {
namespace {

namespace fs = std::filesystem;
using Cpus = std::vector<int>;

// A temporary folder that imitates parts of /proc and /sys.
class FakeSystem {
 public:
  FakeSystem() {
    std::string name = (fs::temp_directory_path() / "aoe_device_XXXXXX").string();
    EXPECT_NE(mkdtemp(name.data()), nullptr);
    root_ = name;
  }
  ~FakeSystem() { fs::remove_all(root_); }
  FakeSystem(const FakeSystem&) = delete;
  FakeSystem& operator=(const FakeSystem&) = delete;

  void write(const std::string& file, const std::string& text) const {
    fs::create_directories((root_ / file).parent_path());
    std::ofstream(root_ / file) << text << "\n";
  }
  const fs::path& root() const { return root_; }

 private:
  fs::path root_;
};

// --- naming -----------------------------------------------------------------------------------

TEST(Device, MicroArchitecturesAreNamedAfterCpuid) {
  struct Case {
    std::string vendor;
    uint32_t leaf1_eax;
    std::string name;
  };
  const std::vector<Case> cases{
      {"GenuineIntel", 0x000306c3, "haswell"},
      {"GenuineIntel", 0x000406f1, "broadwell"},
      {"GenuineIntel", 0x000506e3, "skylake"},
      {"GenuineIntel", 0x00050654, "skylake-avx512"},
      {"GenuineIntel", 0x00050657, "cascadelake"},
      {"GenuineIntel", 0x0005065b, "cooperlake"},
      {"GenuineIntel", 0x000606a6, "icelake-server"},
      {"GenuineIntel", 0x000806f8, "sapphirerapids"},
      {"GenuineIntel", 0x000c06f2, "emeraldrapids"},
      {"GenuineIntel", 0x000a06d1, "graniterapids"},
      {"AuthenticAMD", 0x00800f12, "znver1"},
      {"AuthenticAMD", 0x00830f10, "znver2"},
      {"AuthenticAMD", 0x00a00f11, "znver3"},
      {"AuthenticAMD", 0x00a10f11, "znver4"},
      {"AuthenticAMD", 0x00a60f12, "znver4"},
      {"AuthenticAMD", 0x00a20f10, "znver3"},
      {"AuthenticAMD", 0x00b00f21, "znver5"},
      {"AuthenticAMD", 0x00fffff0, "generic"},
      {"GenuineIntel", 0x000f06f0, "generic"},
      {"SomebodyElse", 0x00a10f11, "generic"},
      {"", 0, "generic"},
  };
  for (const auto& [vendor, eax, name] : cases) {
    EXPECT_EQ(micro_architecture(vendor, Signature::from(eax)), name) << vendor << " " << eax;
  }
}

TEST(Device, VectorFeaturesHaveNames) {
  for (const Feature set : kVectorFeatures) {
    EXPECT_EQ(vector_feature_named(name(set)), set);
  }
  EXPECT_EQ(name(Feature::avx512), "avx512");
  EXPECT_EQ(vector_feature_named("AVX2"), std::nullopt);
  EXPECT_EQ(vector_feature_named(""), std::nullopt);
}

constexpr Features kMiddle{Feature::fma, Feature::f16c, Feature::avx2};
constexpr Features kWide{Feature::fma, Feature::f16c, Feature::avx2, Feature::avx512};

TEST(Device, FeaturesCountOnlyWithTheRegistersTheSystemKeeps) {
  constexpr uint32_t kAllOfLeaf1 = 1u << 12 | 1u << 27 | 1u << 28 | 1u << 29;
  constexpr uint32_t kAvx2 = 1u << 5;
  constexpr uint32_t kAvx512 = 1u << 16 | 1u << 17 | 1u << 28 | 1u << 30 | 1u << 31;
  struct Case {
    FeatureWords words;
    Features announced;
  };
  const std::vector<Case> cases{
      {{kAllOfLeaf1, kAvx2 | kAvx512, 0xe7}, kWide},
      {{kAllOfLeaf1, kAvx2 | kAvx512, 0x07}, kMiddle},
      {{kAllOfLeaf1, kAvx2 | kAvx512, 0x03}, {}},
      {{kAllOfLeaf1, kAvx2 | 1u << 16, 0xe7}, kMiddle},  // AVX-512 F alone
      {{kAllOfLeaf1 & ~(1u << 12), kAvx2 | kAvx512, 0xe7}, {Feature::f16c}},
      {{kAllOfLeaf1 & ~(1u << 27), kAvx2, 0x07}, {}},
      {{kAllOfLeaf1, 0, 0x07}, {Feature::fma, Feature::f16c}},
      {{}, {}},
  };
  for (const auto& [words, announced] : cases) EXPECT_EQ(announced_features(words), announced);
}

// --- cores ------------------------------------------------------------------------------------

TEST(Device, CpuListsAreRangesAndNumbers) {
  EXPECT_EQ(parse_cpu_list("0"), Cpus({0}));
  EXPECT_EQ(parse_cpu_list("0-3,8,10-11"), Cpus({0, 1, 2, 3, 8, 10, 11}));
  EXPECT_EQ(parse_cpu_list(""), Cpus({}));
  EXPECT_EQ(parse_cpu_list("x,1-,2,5-4"), Cpus({2}));
}

constexpr const char* kVersion2Mount =
    "30 23 0:26 / /sys/fs/cgroup rw,nosuid shared:9 - cgroup2 cgroup2 rw,nsdelegate";

TEST(Device, QuotaOfVersion2IsTheSmallestOnTheWayUp) {
  const FakeSystem system;
  system.write("proc/self/mountinfo",
               std::string("22 1 8:1 / / rw - ext4 /dev/sda1 rw\n") + kVersion2Mount);
  system.write("proc/self/cgroup", "0::/outer/inner");
  EXPECT_EQ(cpu_quota(system.root()), std::nullopt);
  system.write("sys/fs/cgroup/outer/inner/cpu.max", "max 100000");
  EXPECT_EQ(cpu_quota(system.root()), std::nullopt);
  system.write("sys/fs/cgroup/outer/cpu.max", "250000 100000");
  EXPECT_EQ(cpu_quota(system.root()), 2.5);
  system.write("sys/fs/cgroup/outer/inner/cpu.max", "50000 100000");
  EXPECT_EQ(cpu_quota(system.root()), 0.5);
}

TEST(Device, QuotaOfVersion1IsThatOfTheCpuController) {
  const FakeSystem system;
  system.write("proc/self/mountinfo",
               "32 31 0:29 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n"
               "33 31 0:30 / /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct");
  system.write("proc/self/cgroup", "5:memory:/other\n4:cpu,cpuacct:/group\n0::/");
  system.write("sys/fs/cgroup/cpu,cpuacct/group/cpu.cfs_period_us", "100000");
  system.write("sys/fs/cgroup/cpu,cpuacct/group/cpu.cfs_quota_us", "-1");
  EXPECT_EQ(cpu_quota(system.root()), std::nullopt);
  system.write("sys/fs/cgroup/cpu,cpuacct/group/cpu.cfs_quota_us", "150000");
  EXPECT_EQ(cpu_quota(system.root()), 1.5);
}

TEST(Device, QuotaIsFoundFromWithinAContainer) {
  struct Case {
    std::string shown;  // the group that the mounted folder shows
    std::string group;  // the group of the process
    std::string file;
  };
  const std::vector<Case> cases{
      {"/docker/1f", "/docker/1f", "sys/fs/cgroup/cpu.max"},
      {"/docker/1f", "/docker/1f/own", "sys/fs/cgroup/own/cpu.max"},
      {"/", "/../other", "sys/fs/cgroup/cpu.max"},
      {"/docker/1f", "/docker/1f2", "sys/fs/cgroup/cpu.max"},
  };
  for (const auto& [shown, group, file] : cases) {
    const FakeSystem system;
    system.write("proc/self/mountinfo",
                 "30 23 0:26 " + shown + " /sys/fs/cgroup rw - cgroup2 cgroup2 rw");
    system.write("proc/self/cgroup", "0::" + group);
    system.write(file, "300000 100000");
    EXPECT_EQ(cpu_quota(system.root()), 3) << shown << " " << group;
  }
}

TEST(Device, BrokenControlGroupsSetNoLimit) {
  for (const std::string text : {"", "100000", "x 100000", "100000 0", "-5 100000", "1 2 3"}) {
    const FakeSystem system;
    system.write("proc/self/mountinfo",
                 std::string("nonsense\n- -\n1 2 - cgroup2\n") + kVersion2Mount);
    system.write("proc/self/cgroup", "nonsense\n0::/");
    system.write("sys/fs/cgroup/cpu.max", text);
    EXPECT_EQ(cpu_quota(system.root()), std::nullopt) << text;
  }
  EXPECT_EQ(cpu_quota("/nowhere"), std::nullopt);
}

TEST(Device, CoresAreTheAllowedOnesWithinTheQuotaRoundedUp) {
  EXPECT_EQ(cores_within(8, std::nullopt), 8);
  EXPECT_EQ(cores_within(8, 2.0), 2);
  EXPECT_EQ(cores_within(8, 2.1), 3);
  EXPECT_EQ(cores_within(8, 0.1), 1);
  EXPECT_EQ(cores_within(2, 1e12), 2);
}

TEST(Device, AffinityIsSeen) {
  const Cpus before = allowed_cpus();
  Cpus seen;
  int cores = 0;
  std::jthread([&] {
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(before.back(), &set);
    ASSERT_EQ(sched_setaffinity(0, sizeof set, &set), 0);
    seen = allowed_cpus();
    cores = usable_cores();
  }).join();
  EXPECT_EQ(seen, Cpus({before.back()}));
  EXPECT_EQ(cores, 1);
  EXPECT_EQ(allowed_cpus(), before);
}

TEST(Device, ThreadsGoToCoresOfTheirOwnFirst) {
  const FakeSystem system;
  for (const int cpu : {0, 1, 2, 3}) {
    system.write("cpu" + std::to_string(cpu) + "/topology/thread_siblings_list",
                 cpu % 2 == 0 ? "0,2" : "1,3");
  }
  EXPECT_EQ(spread_over_cores({0, 1, 2, 3}, system.root()), Cpus({1, 0, 3, 2}));
  EXPECT_EQ(spread_over_cores({0, 2}, system.root()), Cpus({0, 2}));
  EXPECT_EQ(spread_over_cores({4, 5}, system.root()), Cpus({5, 4}));
}

// --- caches -----------------------------------------------------------------------------------

TEST(Device, CachesAreReadByLevel) {
  const FakeSystem system;
  const auto write = [&](int index, const std::vector<std::string>& values) {
    const std::vector<std::string> names{"level", "type", "size", "coherency_line_size",
                                         "shared_cpu_list"};
    for (size_t i = 0; i < values.size(); ++i) {
      system.write("index" + std::to_string(index) + "/" + names[i], values[i]);
    }
  };
  write(0, {"1", "Data", "48K", "64", "0,4"});
  write(1, {"1", "Instruction", "64K", "64", "0,4"});
  write(2, {"2", "Unified", "2M", "128", "0-3"});
  EXPECT_EQ(read_caches(system.root()),
            (std::array<Cache, 3>{Cache{48 << 10, 64, 2}, Cache{2 << 20, 128, 4}, Cache{}}));
  write(3, {"3", "Unified", "32768K"});  // some systems report no more
  EXPECT_EQ(read_caches(system.root())[2], (Cache{32 << 20, 64, 1}));
  write(4, {"4", "Unified", "128M", "64", "0-7"});
  EXPECT_EQ(read_caches(system.root())[2].bytes, 32 << 20);
}

TEST(Device, ThereAreCachesEvenWhereTheSystemTellsNothing) {
  EXPECT_EQ(read_caches("/nowhere")[0].bytes, 0);
  EXPECT_GT(host_caches(1 << 30, 1)[0].bytes, 0);
}

// --- probe ------------------------------------------------------------------------------------

TEST(DeviceProbe, ABodyThatEndsRan) {
  EXPECT_TRUE(runs_in_child([] {}));
}

TEST(DeviceProbe, ABodyThatDiesDidNotRun) {
  EXPECT_FALSE(runs_in_child([] { __builtin_trap(); }));
  EXPECT_FALSE(runs_in_child([] { raise(SIGSEGV); }));
  EXPECT_FALSE(runs_in_child([] { raise(SIGKILL); }));
  EXPECT_FALSE(runs_in_child([] { _exit(0); }));
#if defined(__x86_64__)
  EXPECT_FALSE(runs_in_child([] { asm volatile("ud2"); }));
#endif
}

TEST(DeviceProbe, ABodyThatHangsDidNotRun) {
  const auto hang = [] {
    for (;;) pause();
  };
  EXPECT_FALSE(runs_in_child(hang, std::chrono::milliseconds(20)));
}

// A host process may ignore SIGCHLD, so that children cannot be waited for, or handle faults
// itself.
TEST(DeviceProbe, TheHostsSignalsDoNotMatter) {
  struct sigaction children = {};
  struct sigaction faults = {};
  struct sigaction ignore = {};
  ignore.sa_handler = SIG_IGN;
  sigaction(SIGCHLD, &ignore, &children);
  sigaction(SIGILL, &ignore, &faults);
  EXPECT_TRUE(runs_in_child([] {}));
  EXPECT_FALSE(runs_in_child([] { raise(SIGILL); }));
  sigaction(SIGCHLD, &children, nullptr);
  sigaction(SIGILL, &faults, nullptr);
}

TEST(DeviceProbe, ManyThreadsMayAskAtOnce) {
  std::atomic<int> ran{0};
  {
    std::vector<std::jthread> threads;
    for (int i = 0; i < 4; ++i) {
      threads.emplace_back([&] {
        const std::vector<char> busy(1 << 16);  // other threads hold the allocator's locks
        ran += runs_in_child([] {}) && !runs_in_child([] { __builtin_trap(); });
      });
    }
  }
  EXPECT_EQ(ran, 4);
}

TEST(DeviceProbe, OnlyWhatRunsWorks) {
  struct Case {
    Features announced;
    Features runs;
    Features working;
  };
  const std::vector<Case> cases{
      {kWide, kWide, kWide},
      {kWide, kMiddle, kMiddle},
      {kWide, {Feature::fma, Feature::f16c, Feature::avx512}, {Feature::fma, Feature::f16c}},
      {kWide, {Feature::f16c, Feature::avx2, Feature::avx512}, {Feature::f16c}},
      {kWide, {}, {}},
      {kMiddle, kWide, kMiddle},
      {{}, kWide, {}},
  };
  for (const auto& [announced, runs, working] : cases) {
    const auto run = [&](const Features& tried) { return runs.has_all(tried); };
    EXPECT_EQ(working_features(announced, run), working);
  }
}

TEST(DeviceProbe, ADeviceHasWhatWorksAndNamesWhatIsOnlyAnnounced) {
  Device device;
  set_features(device, kWide, kMiddle);
  EXPECT_EQ(device.vector_features(), (std::vector{Feature::sse2, Feature::avx2}));
  EXPECT_EQ(device.announced_only, Features{Feature::avx512});
  EXPECT_EQ(device.vector_bytes, 32);
  EXPECT_EQ(device.vector_registers, 16);
  EXPECT_TRUE(device.has(Feature::fma) && device.has(Feature::f16c));
}

// --- the device -------------------------------------------------------------------------------

Device wide_device() {
  Device device;
  device.architecture = "x86_64";
  device.micro_architecture = "znver4";
  device.features = kWide;
  device.features.set(Feature::sse2, true);
  device.vector_bytes = 64;
  device.vector_registers = 32;
  device.caches = {Cache{32 << 10, 64, 1}, Cache{1 << 20, 64, 1}, Cache{32 << 20, 64, 8}};
  return device;
}

TEST(Device, NarrowedIsTheSameMachineWithNarrowerVectors) {
  const Device wide = wide_device();
  EXPECT_EQ(wide.soc_version(), "x86_64_znver4");
  EXPECT_EQ(narrowed(wide, Feature::avx512).vector_bytes, 64);

  const Device middle = narrowed(wide, Feature::avx2);
  EXPECT_EQ(middle.vector_bytes, 32);
  EXPECT_EQ(middle.vector_registers, 16);
  EXPECT_TRUE(middle.has(Feature::fma) && middle.has(Feature::f16c) && middle.has(Feature::avx2));
  EXPECT_FALSE(middle.has(Feature::avx512));
  EXPECT_EQ(middle.soc_version(), wide.soc_version());
  EXPECT_EQ(middle.caches, wide.caches);

  const Device narrow = narrowed(wide, Feature::sse2);
  EXPECT_EQ(narrow.vector_bytes, 16);
  EXPECT_FALSE(narrow.has(Feature::fma) || narrow.has(Feature::f16c) || narrow.has(Feature::avx2));
  EXPECT_THROW(narrowed(narrow, Feature::avx2), Error);
}

TEST(Device, TheHostIsOneMachineForAllThreads) {
  const Device* seen = nullptr;
  std::jthread([&] { seen = &host_device(); }).join();
  const Device& host = host_device();
  EXPECT_EQ(seen, &host);
  EXPECT_GE(host.cores, 1);
  EXPECT_LE(host.cores, host.processors);
  EXPECT_GT(host.caches[0].bytes, 0);
  EXPECT_GT(host.memory_bytes, 0);
#if defined(__x86_64__)
  EXPECT_EQ(host.architecture, "x86_64");
  EXPECT_TRUE(host.has(Feature::sse2));
  EXPECT_EQ(host.vector_bytes, 16 << (host.vector_features().size() - 1));
#endif
}

TEST(Device, CopiesReachBeyondAllTheCachesInvolved) {
  Device device = wide_device();
  EXPECT_EQ(bytes_beyond_caches(device, 1), 512 << 20);
  EXPECT_EQ(bytes_beyond_caches(device, 8), 512 << 20);
  EXPECT_EQ(bytes_beyond_caches(device, 9), 1 << 30);
  EXPECT_EQ(bytes_beyond_caches(device, 1000), 1 << 30);
  device.caches = {};
  EXPECT_EQ(bytes_beyond_caches(device, 1), 512 << 20);
}

TEST(Device, EveryWorkingInstructionSetCanBeMeasured) {
  for (const Feature set : host_device().vector_features()) {
    const Rates rates = measure_rates(narrowed(host_device(), set), 1);
    EXPECT_GT(rates.fma_gflops, 0) << name(set);
    EXPECT_GT(rates.copy_gbps, 0) << name(set);
  }
  EXPECT_THROW(measure_rates(host_device(), 0), Error);
  EXPECT_THROW(measure_rates(host_device(), 1 << 20), Error);
}

}  // namespace
}  // namespace aoe

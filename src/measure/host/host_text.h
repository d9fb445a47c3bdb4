#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace aoe {

// The load of the system, in the text that the system gives.

// What processors did since the system started, in its ticks.
struct CpuTimes {
  uint64_t busy = 0;    // with processes, the system and interrupts
  uint64_t idle = 0;    // also while waiting for a disk
  uint64_t stolen = 0;  // wanted to run, but the hypervisor let others

  uint64_t total() const { return busy + idle + stolen; }
  bool operator==(const CpuTimes&) const = default;
};

// Of these processors together, from /proc/stat. One that is not in it is left out.
CpuTimes parse_cpu_times(std::string_view text, const std::vector<int>& cpus);

struct Load {
  double average = 0;  // of the last minute
  int runnable = 0;    // processes that run or could at this moment

  bool operator==(const Load&) const = default;
};

// From /proc/loadavg: "0.52 0.48 0.40 2/180 4242".
std::optional<Load> parse_load(std::string_view text);

}  // namespace aoe

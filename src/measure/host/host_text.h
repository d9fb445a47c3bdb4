#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace aoe {

// Parsers for the load of the system in /proc.

// Time of processors since the system started, in ticks of sysconf(_SC_CLK_TCK).
struct CpuTimes {
  uint64_t busy = 0;    // processes, kernel and interrupts
  uint64_t idle = 0;    // including iowait
  uint64_t stolen = 0;  // ready to run while the hypervisor ran other machines

  uint64_t total() const { return busy + idle + stolen; }
  bool operator==(const CpuTimes&) const = default;
};

// Sum over these processors, from the text of /proc/stat. Processors missing there are skipped.
CpuTimes parse_cpu_times(std::string_view text, const std::vector<int>& cpus);

struct Load {
  double average = 0;  // over the last minute
  int runnable = 0;    // processes currently running or ready to run

  bool operator==(const Load&) const = default;
};

// From /proc/loadavg: "0.52 0.48 0.40 2/180 4242".
std::optional<Load> parse_load(std::string_view text);

}  // namespace aoe

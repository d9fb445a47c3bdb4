#pragma once

#include <optional>
#include <string>
#include <vector>

#include "measure/host/host_text.h"

namespace aoe {

// Noise of a machine, observed for less than a second before a job measures.
struct HostFigures {
  int cores = 1;  // usable by this process
  std::optional<Load> load;
  double others_share = 0;  // share of these cores' time taken by other processes
  double stolen_share = 0;  // share of it that the hypervisor gave to other machines
  // Current and maximum clock frequency after the work of the check, of the core with the lowest
  // ratio of both. 0 if no core reports them.
  double clock_ghz = 0;
  double most_clock_ghz = 0;
  // A/A noise floor of a fixed piece of work: the bound farther from 1 of the 99 % interval of the
  // ratio of its times in alternating turns. 1.004 means 0.4 %.
  double noise_floor = 1;
};

// Observes the machine for about 0.7 s while the calling thread runs the A/A comparison.
HostFigures check_host();

// Factor by which the margin of a proof widens on such a host; 1 if it is quiet.
double margin_factor(const HostFigures& figures);

// Messages to the user about a noisy host, one line each; if the margin widens, the last line
// states it. Empty for a quiet host.
std::vector<std::string> host_notes(const HostFigures& figures);

// Shares of the processors' time between two readings of /proc/stat. `own_seconds` is the processor
// time that this process used in between, which does not count as `others`.
struct TimeShares {
  double others = 0;
  double stolen = 0;
};
TimeShares shares_between(const CpuTimes& before, const CpuTimes& after, double own_seconds,
                          double ticks_per_second);

}  // namespace aoe

#pragma once

#include <optional>
#include <string>
#include <vector>

#include "measure/host/host_text.h"

namespace aoe {

// How quiet a machine is, seen over the second before a measurement.
struct HostFigures {
  int cores = 1;  // that this process may use
  std::optional<Load> load;
  double others_share = 0;  // of these cores' time, taken by other processes
  double stolen_share = 0;  // of it, taken by the hypervisor for others
  // Of the slowest core that tells it, after a second of work: now, and the most it can do. 0: none
  // tells.
  double clock_ghz = 0;
  double most_clock_ghz = 0;
  // How far a constant piece of work seemed to be from itself: the farther bound of the 99 %
  // interval of the ratio of its times to its times in turns. 1.004: 0.4 %.
  double noise_floor = 1;
};

// Measures for some 0.7 s on the calling thread.
HostFigures check_host();

// What the margin of a proof is multiplied by on such a host: 1 if it is quiet.
double margin_factor(const HostFigures& figures);

// What a user is told of a host that is not quiet, one line each, the last one what follows from
// it; nothing of one that is.
std::vector<std::string> host_notes(const HostFigures& figures);

// What changed on `cores` between two looks at them, of which this process used `own_seconds`.
struct TimeShares {
  double others = 0;
  double stolen = 0;
};
TimeShares shares_between(const CpuTimes& before, const CpuTimes& after, double own_seconds,
                          double ticks_per_second);

}  // namespace aoe

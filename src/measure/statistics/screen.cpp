#include "measure/statistics/screen.h"

#include <algorithm>
#include <cmath>

namespace aoe {

Screened screen_runs(std::span<const double> runs_ns, double baseline_ns, double least_ns,
                     const ScreenOptions& options) {
  if (runs_ns.empty()) return Screened::not_timed;
  const double shortest = *std::min_element(runs_ns.begin(), runs_ns.end());
  // An impossible time in any run reveals a clock that was set or work that was skipped.
  const bool possible = std::all_of(runs_ns.begin(), runs_ns.end(), [&](double ns) {
    return std::isfinite(ns) && ns > 0 && ns >= least_ns;
  });
  if (!possible) return Screened::impossible;
  if (runs_ns.size() >= options.hopeless_runs && shortest > options.hopeless * baseline_ns) {
    return Screened::hopeless;
  }
  return runs_ns.size() >= options.runs ? Screened::kept : Screened::not_timed;
}

double least_ns(double operations, const Rates& rates) {
  // Winograd's F(4x4, 3x3) needs a fourth of the multiplications that are counted.
  constexpr double kFewerOperations = 4;
  // A core may briefly run faster than when its rate was measured.
  constexpr double kFasterThanMeasured = 1.5;
  return operations / (rates.fma_gflops * kFewerOperations * kFasterThanMeasured);
}

}  // namespace aoe

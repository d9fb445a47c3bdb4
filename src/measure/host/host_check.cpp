#include "measure/host/host_check.h"

#include <fmt/format.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>

#include "device/cores.h"
#include "device/system_text.h"
#include "measure/statistics/intervals.h"
#include "measure/statistics/rounds.h"

namespace aoe {
namespace {

constexpr double kSeconds = 0.7;

// Thresholds above which disturbances are reported. /proc/stat counts in ticks, a hundred per
// second: kMuchStolen of kSeconds is one to two ticks of a core.
constexpr double kManyOthers = 0.10;
constexpr double kMuchStolen = 0.02;
constexpr double kSlowClock = 0.70;
// Minimum factor of the margin on a disturbed host: a quiet second there does not mean that the
// following ones are quiet.
constexpr double kDisturbedFactor = 2;
constexpr double kLargestFactor = 10;

double own_seconds() {
  rusage usage = {};
  getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& t) {
    return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_usec) / 1e6;
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

CpuTimes times_of(const std::vector<int>& cpus) {
  return parse_cpu_times(read_system_text("/proc/stat"), cpus);
}

// Work of some tens of microseconds on data in the first-level cache, similar to a kernel.
void fixed_work() {
  static std::array<float, 2048> numbers = {};
  for (int repeat = 0; repeat < 64; ++repeat) {
    for (float& number : numbers) number = number * 0.999F + 0.001F;
    asm volatile("" ::"r"(numbers.data()) : "memory");  // keeps the compiler from merging repeats
  }
}

double ghz_in(const std::string& file) {
  const std::string text = read_system_text(file);
  double khz = 0;
  std::from_chars(text.data(), text.data() + text.size(), khz);
  return khz / 1e6;
}

void read_clocks(const std::vector<int>& cpus, HostFigures& figures) {
  for (const int cpu : cpus) {
    const std::string folder = fmt::format("/sys/devices/system/cpu/cpu{}/cpufreq/", cpu);
    const double now = ghz_in(folder + "scaling_cur_freq");
    const double most = ghz_in(folder + "cpuinfo_max_freq");
    if (now <= 0 || most <= 0) continue;
    if (figures.clock_ghz > 0 && now / most >= figures.clock_ghz / figures.most_clock_ghz) continue;
    figures.clock_ghz = now;
    figures.most_clock_ghz = most;
  }
}

bool has_slow_clock(const HostFigures& figures) {
  return figures.clock_ghz < kSlowClock * figures.most_clock_ghz;
}

bool is_disturbed(const HostFigures& figures) {
  return figures.others_share > kManyOthers || figures.stolen_share > kMuchStolen;
}

}  // namespace

TimeShares shares_between(const CpuTimes& before, const CpuTimes& after, double own_seconds,
                          double ticks_per_second) {
  const auto total = static_cast<double>(after.total() - before.total());
  if (total <= 0) return {};
  const auto busy = static_cast<double>(after.busy - before.busy);
  const auto stolen = static_cast<double>(after.stolen - before.stolen);
  return {std::clamp((busy - own_seconds * ticks_per_second) / total, 0.0, 1.0), stolen / total};
}

HostFigures check_host() {
  const std::vector<int> cpus = allowed_cpus();
  HostFigures figures;
  figures.cores = usable_cores();
  figures.load = parse_load(read_system_text("/proc/loadavg"));
  const CpuTimes before = times_of(cpus);
  const double own_before = own_seconds();
  const std::vector<ParticipantTimes> turns =
      measure_rounds({fixed_work, fixed_work}, {.seconds = kSeconds});
  read_clocks(cpus, figures);
  const TimeShares shares = shares_between(before, times_of(cpus), own_seconds() - own_before,
                                           static_cast<double>(sysconf(_SC_CLK_TCK)));
  figures.others_share = shares.others;
  figures.stolen_share = shares.stolen;
  const Interval ratio = ratio_of(turns[0].medians_ns, turns[1].medians_ns);
  figures.noise_floor = std::max(ratio.high, 1 / ratio.low);
  return figures;
}

double margin_factor(const HostFigures& figures) {
  const double by_noise = (figures.noise_floor - 1) / kMargin;
  const double least = is_disturbed(figures) ? kDisturbedFactor : 1.0;
  return std::clamp(by_noise, least, kLargestFactor);
}

std::vector<std::string> host_notes(const HostFigures& figures) {
  std::vector<std::string> notes;
  if (figures.others_share > kManyOthers) {
    std::string note = fmt::format(
        "other processes take {:.0f} % of the {} this one may use", figures.others_share * 100,
        figures.cores == 1 ? "core" : fmt::format("{} cores", figures.cores));
    if (figures.load) note += fmt::format(" (load average {:.1f})", figures.load->average);
    notes.push_back(std::move(note));
  }
  if (figures.stolen_share > kMuchStolen) {
    notes.push_back(fmt::format("the hypervisor gives {:.0f} % of their time to other machines",
                                figures.stolen_share * 100));
  }
  if (has_slow_clock(figures)) {
    notes.push_back(fmt::format("a core runs at {:.1f} GHz of {:.1f}", figures.clock_ghz,
                                figures.most_clock_ghz));
  }
  const double factor = margin_factor(figures);
  if (factor > 1) {
    notes.push_back(fmt::format("{}: only gains above {:.1f} % are accepted",
                                (figures.noise_floor - 1) / kMargin < factor
                                    ? "this may disturb measurements"
                                    : fmt::format("the same work differs from itself by {:.1f} %",
                                                  (figures.noise_floor - 1) * 100),
                                kMargin * factor * 100));
  }
  return notes;
}

}  // namespace aoe

#include "measure/host/host_text.h"

#include <algorithm>
#include <charconv>
#include <string>

#include "device/system_text.h"

namespace aoe {
namespace {

template <typename Number>
std::optional<Number> number_of(std::string_view text) {
  Number number = {};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return number;
}

}  // namespace

CpuTimes parse_cpu_times(std::string_view text, const std::vector<int>& cpus) {
  CpuTimes times;
  for (const std::string& line : split_text(text, '\n')) {
    if (!line.starts_with("cpu")) continue;
    const std::vector<std::string> words = split_text(line, ' ');
    const auto cpu = number_of<int>(std::string_view(words[0]).substr(3));
    if (!cpu || std::find(cpus.begin(), cpus.end(), *cpu) == cpus.end()) continue;
    // user nice system idle iowait irq softirq steal; guests are counted as users already.
    enum { kIdle = 4, kWaiting = 5, kStolen = 8 };
    for (size_t i = 1; i < words.size() && i <= kStolen; ++i) {
      const uint64_t ticks = number_of<uint64_t>(words[i]).value_or(0);
      if (i == kIdle || i == kWaiting) times.idle += ticks;
      else if (i == kStolen) times.stolen += ticks;
      else times.busy += ticks;
    }
  }
  return times;
}

std::optional<Load> parse_load(std::string_view text) {
  const std::vector<std::string> words = split_text(text, ' ');
  if (words.size() < 4) return std::nullopt;
  const auto average = number_of<double>(words[0]);
  const auto runnable = number_of<int>(std::string_view(words[3]).substr(0, words[3].find('/')));
  if (!average || !runnable) return std::nullopt;
  return Load{*average, *runnable};
}

}  // namespace aoe

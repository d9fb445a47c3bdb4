#include "device/fingerprint.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <charconv>
#include <vector>

#include "device/system_text.h"

namespace aoe {
namespace {

// The value of the first line "name : value"; empty if there is none.
std::string value_of(std::string_view name, std::string_view cpuinfo) {
  for (const std::string& line : split_text(cpuinfo, '\n')) {
    if (!line.starts_with(name)) continue;
    const size_t colon = line.find(':');
    if (colon == std::string::npos) continue;
    const size_t first = line.find_first_not_of(" \t", colon + 1);
    return first == std::string::npos ? "" : line.substr(first);
  }
  return "";
}

// The nominal frequency: as the driver tells it, else from the name ("... @ 2.60GHz"). The current
// one, which /proc/cpuinfo has too, changes all the time.
std::string frequency_text(std::string_view cpuinfo, std::string_view base_khz) {
  double khz = 0;
  std::from_chars(base_khz.data(), base_khz.data() + base_khz.size(), khz);
  if (khz <= 0) {
    const std::string name = value_of("model name", cpuinfo);
    const size_t at = name.find("@ ");
    if (at == std::string::npos) return "";
    double ghz = 0;
    std::from_chars(name.data() + at + 2, name.data() + name.size(), ghz);
    khz = ghz * 1e6;
  }
  return khz > 0 ? fmt::format("{:.2f} GHz", khz / 1e6) : "";
}

std::string size_text(int64_t bytes) {
  constexpr int64_t kMega = 1 << 20;
  return bytes >= kMega ? fmt::format("{}M", bytes / kMega) : fmt::format("{}K", bytes / 1024);
}

}  // namespace

std::string fingerprint(std::string_view cpuinfo, std::string_view base_khz,
                        const std::array<Cache, 3>& caches) {
  std::vector<std::string> parts;
  if (const std::string microcode = value_of("microcode", cpuinfo); !microcode.empty()) {
    parts.push_back("microcode " + microcode);
  }
  if (const std::string frequency = frequency_text(cpuinfo, base_khz); !frequency.empty()) {
    parts.push_back(frequency);
  }
  std::string sizes;
  for (const Cache& cache : caches) {
    if (cache.bytes > 0) sizes += " " + size_text(cache.bytes);
  }
  if (!sizes.empty()) parts.push_back("caches" + sizes);
  return fmt::format("{}", fmt::join(parts, ", "));
}

std::string host_fingerprint(const std::array<Cache, 3>& caches) {
  return fingerprint(read_system_text("/proc/cpuinfo"),
                     read_system_text("/sys/devices/system/cpu/cpu0/cpufreq/base_frequency"),
                     caches);
}

}  // namespace aoe

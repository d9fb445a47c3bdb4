#include "device/caches.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdlib>

#include "device/system_text.h"

namespace aoe {
namespace {

constexpr int kLineBytes = 64;
constexpr int64_t kSmallL1Bytes = 32 << 10;
constexpr int64_t kSmallL2Bytes = 256 << 10;

// "1024K"
int64_t parse_bytes(const std::string& text) {
  char* end = nullptr;
  const int64_t number = std::strtoll(text.c_str(), &end, 10);
  if (number <= 0) return 0;
  switch (*end) {
    case 'K': return number << 10;
    case 'M': return number << 20;
    case 'G': return number << 30;
    default: return number;
  }
}

int positive_or(const std::string& text, int otherwise) {
  const int number = std::atoi(text.c_str());
  return number > 0 ? number : otherwise;
}

}  // namespace

std::array<Cache, 3> read_caches(const std::filesystem::path& folder) {
  std::array<Cache, 3> caches;
  for (int index = 0;; ++index) {
    const std::filesystem::path one = folder / fmt::format("index{}", index);
    const std::string level = read_system_text(one / "level");
    if (level.empty()) return caches;
    if (read_system_text(one / "type") == "Instruction") continue;
    const int number = std::atoi(level.c_str());
    if (number < 1 || number > 3) continue;
    const size_t sharing = parse_cpu_list(read_system_text(one / "shared_cpu_list")).size();
    caches[number - 1] = {parse_bytes(read_system_text(one / "size")),
                          positive_or(read_system_text(one / "coherency_line_size"), kLineBytes),
                          static_cast<int>(std::max<size_t>(1, sharing))};
  }
}

std::array<Cache, 3> host_caches(int cpu, int processors) {
  std::array<Cache, 3> caches =
      read_caches(fmt::format("/sys/devices/system/cpu/cpu{}/cache", cpu));
  if (caches[0].bytes > 0) return caches;
  caches = {Cache{sysconf(_SC_LEVEL1_DCACHE_SIZE), kLineBytes, 1},
            Cache{sysconf(_SC_LEVEL2_CACHE_SIZE), kLineBytes, 1},
            Cache{sysconf(_SC_LEVEL3_CACHE_SIZE), kLineBytes, processors}};
  if (caches[0].bytes <= 0) {
    caches = {Cache{kSmallL1Bytes, kLineBytes, 1}, Cache{kSmallL2Bytes, kLineBytes, 1}};
  }
  for (Cache& cache : caches) {
    if (cache.bytes <= 0) cache = {};
  }
  return caches;
}

}  // namespace aoe

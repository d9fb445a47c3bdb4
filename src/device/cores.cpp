#include "device/cores.h"

#include <fmt/format.h>
#include <sched.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstdlib>
#include <memory>
#include <set>
#include <string>
#include <string_view>

#include "device/system_text.h"

namespace aoe {
namespace {

namespace fs = std::filesystem;

// One mounted hierarchy of control groups, and the group of this process in it.
struct Hierarchy {
  bool unified = false;  // version 2
  std::string mount;     // mount point: "/sys/fs/cgroup"
  std::string shown;     // the group at the mount point: "/" unless in a container
  std::string group;     // of this process: "/system.slice/docker-1f.scope"
};

bool names_cpu(std::string_view controllers) {
  const std::vector<std::string> names = split_text(controllers, ',');
  return std::find(names.begin(), names.end(), "cpu") != names.end();
}

// A line of mountinfo: 36 35 0:30 SHOWN MOUNT rw,relatime [more...] - TYPE source OPTIONS
std::optional<Hierarchy> parse_mount(std::string_view line) {
  const size_t dash = line.find(" - ");
  if (dash == std::string_view::npos) return std::nullopt;
  const std::vector<std::string> head = split_text(line.substr(0, dash), ' ');
  const std::vector<std::string> tail = split_text(line.substr(dash + 3), ' ');
  if (head.size() < 5 || tail.size() < 3) return std::nullopt;
  const bool unified = tail[0] == "cgroup2";
  if (!unified && (tail[0] != "cgroup" || !names_cpu(tail[2]))) return std::nullopt;
  return Hierarchy{unified, head[4], head[3], ""};
}

// Lines of /proc/self/cgroup: "4:cpu,cpuacct:/group" of version 1, "0::/group" of version 2.
std::string group_in(const Hierarchy& hierarchy, const std::vector<std::string>& lines) {
  for (const std::string& line : lines) {
    const size_t first = line.find(':');
    const size_t second = line.find(':', first + 1);
    if (second == std::string::npos) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1);
    if (hierarchy.unified ? controllers.empty() : names_cpu(controllers)) {
      return line.substr(second + 1);
    }
  }
  return "/";
}

std::optional<double> number(const std::string& text) {
  char* end = nullptr;
  const double value = std::strtod(text.c_str(), &end);
  if (end == text.c_str() || *end != '\0') return std::nullopt;
  return value;
}

std::optional<double> quota_of(const fs::path& folder, bool unified) {
  std::vector<std::string> words;
  if (unified) {
    words = split_text(read_system_text(folder / "cpu.max"), ' ');
  } else {
    words = {read_system_text(folder / "cpu.cfs_quota_us"),
             read_system_text(folder / "cpu.cfs_period_us")};
  }
  if (words.size() != 2) return std::nullopt;
  const std::optional<double> quota = number(words[0]);  // none: "max"
  const std::optional<double> period = number(words[1]);
  if (!quota || !period || *quota <= 0 || *period <= 0) return std::nullopt;
  return *quota / *period;
}

std::optional<double> smaller(std::optional<double> a, std::optional<double> b) {
  if (!a || !b) return a ? a : b;
  return std::min(*a, *b);
}

// The smallest quota on the path from the mount point to the group: a group limits all below it.
std::optional<double> quota_in(const Hierarchy& hierarchy, const fs::path& root) {
  fs::path group;
  if (hierarchy.shown == "/") group = fs::path(hierarchy.group).relative_path();
  else if (hierarchy.group.starts_with(hierarchy.shown + "/"))
    group = hierarchy.group.substr(hierarchy.shown.size() + 1);
  // A group outside of the mounted subtree begins with "..": only the mount point is visible then.
  group = group.lexically_normal();
  if (group.string().starts_with("..")) group.clear();
  const fs::path top = root / fs::path(hierarchy.mount).relative_path();
  std::optional<double> quota = quota_of(top, hierarchy.unified);
  fs::path folder = top;
  for (const fs::path& part : group) {
    folder /= part;
    quota = smaller(quota, quota_of(folder, hierarchy.unified));
  }
  return quota;
}

}  // namespace

std::vector<int> allowed_cpus() {
  // The kernel rejects (EINVAL) a set that is smaller than the one it was built with.
  for (int room = CPU_SETSIZE; room <= 1 << 20; room *= 2) {
    const std::unique_ptr<cpu_set_t, void (*)(cpu_set_t*)> set(
        CPU_ALLOC(room), [](cpu_set_t* allocated) { CPU_FREE(allocated); });
    const size_t bytes = CPU_ALLOC_SIZE(room);
    CPU_ZERO_S(bytes, set.get());
    if (sched_getaffinity(0, bytes, set.get()) != 0) {
      if (errno == EINVAL) continue;
      break;
    }
    std::vector<int> cpus;
    for (int cpu = 0; cpu < room; ++cpu) {
      if (CPU_ISSET_S(cpu, bytes, set.get())) cpus.push_back(cpu);
    }
    if (!cpus.empty()) return cpus;
  }
  return {0};
}

std::optional<double> cpu_quota(const fs::path& root) {
  const std::vector<std::string> groups =
      split_text(read_system_text(root / "proc/self/cgroup"), '\n');
  std::optional<double> quota;
  for (const std::string& line : split_text(read_system_text(root / "proc/self/mountinfo"), '\n')) {
    std::optional<Hierarchy> hierarchy = parse_mount(line);
    if (!hierarchy) continue;
    hierarchy->group = group_in(*hierarchy, groups);
    quota = smaller(quota, quota_in(*hierarchy, root));
  }
  return quota;
}

int cores_within(int allowed, std::optional<double> quota) {
  const double granted = quota ? std::ceil(*quota) : allowed;
  return std::max(1, static_cast<int>(std::min<double>(allowed, granted)));
}

int usable_cores() {
  static const std::optional<double> quota = cpu_quota();
  return cores_within(static_cast<int>(allowed_cpus().size()), quota);
}

std::vector<int> spread_over_cores(const std::vector<int>& cpus, const fs::path& folder) {
  std::vector<int> first;
  std::vector<int> second;
  std::set<std::string> seen;
  for (const int cpu : cpus) {
    const fs::path siblings = folder / fmt::format("cpu{}/topology/thread_siblings_list", cpu);
    const std::string core = read_system_text(siblings);
    const bool fresh = core.empty() || seen.insert(core).second;
    (fresh ? first : second).push_back(cpu);
  }
  std::reverse(first.begin(), first.end());
  first.insert(first.end(), second.rbegin(), second.rend());
  return first;
}

}  // namespace aoe

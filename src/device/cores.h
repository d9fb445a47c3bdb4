#pragma once

#include <filesystem>
#include <optional>
#include <vector>

namespace aoe {

// The processors that the calling thread may run on, in ascending order; never none.
std::vector<int> allowed_cpus();

// How many processors' time the control groups of this process grant it, of either version; none
// if they set no limit. `root` is the folder that holds proc and sys.
std::optional<double> cpu_quota(const std::filesystem::path& root = "/");

// The processors among which `quota` processors' time is worth running threads: at least one.
int cores_within(int allowed, std::optional<double> quota);

// Cores this process may use. The quota is read once, the affinity whenever it is asked for.
int usable_cores();

// The same processors, one of each core before the second of any, because two threads that share a
// core are not worth two cores; the last first, because the first has most of the system's work.
std::vector<int> spread_over_cores(const std::vector<int>& cpus,
                                   const std::filesystem::path& folder = "/sys/devices/system/cpu");

}  // namespace aoe

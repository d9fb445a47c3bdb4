#pragma once

#include <filesystem>
#include <optional>
#include <vector>

namespace aoe {

// The processors that the calling thread may run on, in ascending order; never none.
std::vector<int> allowed_cpus();

// The CPU time that the control groups (v1 and v2) of this process grant it, in processors; none if
// they set no limit. `root` is the folder that contains proc and sys.
std::optional<double> cpu_quota(const std::filesystem::path& root = "/");

// Number of threads worth running on `allowed` processors with the time of `quota`: at least one.
int cores_within(int allowed, std::optional<double> quota);

// Number of cores that this process may use. The quota is read once, the affinity in every call.
int usable_cores();

// The same processors in the order in which threads should use them: one of each core before the
// second of any, because threads that share a core slow each other down; otherwise the last first,
// because the first ones do most of the system's work.
std::vector<int> spread_over_cores(const std::vector<int>& cpus,
                                   const std::filesystem::path& folder = "/sys/devices/system/cpu");

}  // namespace aoe

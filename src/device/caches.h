#pragma once

#include <filesystem>

#include "device/device.h"

namespace aoe {

// The data caches in a folder like /sys/devices/system/cpu/cpu0/cache: L1d, L2, L3.
std::array<Cache, 3> read_caches(const std::filesystem::path& folder);

// Those that serve the given processor. Where the system tells nothing, what the C library finds
// out, and failing that a small processor's: a guess that is too small costs less than none.
std::array<Cache, 3> host_caches(int cpu, int processors);

}  // namespace aoe

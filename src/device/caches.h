#pragma once

#include <filesystem>

#include "device/device.h"

namespace aoe {

// Reads the data caches from a folder like /sys/devices/system/cpu/cpu0/cache: L1d, L2, L3.
std::array<Cache, 3> read_caches(const std::filesystem::path& folder);

// The data caches of a processor: from the system, else from the C library, else those of a small
// processor, because too small a guess costs less than none.
std::array<Cache, 3> host_caches(int cpu, int processors);

}  // namespace aoe

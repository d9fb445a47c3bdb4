#pragma once

#include <array>
#include <string>
#include <string_view>

#include "device/device.h"

namespace aoe {

// What may differ between two processors of one name and change how fast kernels run: "microcode
// 0xa101148, 2.60 GHz, caches 32K 1M 32M". Parts that the system does not tell are left out.
// `cpuinfo` is the text of /proc/cpuinfo, `base_khz` that of cpufreq/base_frequency.
std::string fingerprint(std::string_view cpuinfo, std::string_view base_khz,
                        const std::array<Cache, 3>& caches);

std::string host_fingerprint(const std::array<Cache, 3>& caches);

}  // namespace aoe

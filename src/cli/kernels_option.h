#pragma once

#include <string>

#include "device/device.h"

namespace aoe {

// The machine at hand as `--kernels` lets it be seen: with vectors no wider than those of "sse2",
// "avx2" or "avx512"; empty: as it is.
Device device_for(const std::string& kernels);

}  // namespace aoe

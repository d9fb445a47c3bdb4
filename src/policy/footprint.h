#pragma once

#include <algorithm>

#include "device/device.h"

namespace aoe {

// Whether results of this many bytes would leave the caches before anyone reads them, so that they
// had better go past them.
inline bool exceeds_caches(const Device& device, int64_t bytes) {
  constexpr int64_t kLeast = int64_t{8} << 20;
  return bytes >= std::max(kLeast, device.last_cache().bytes / 4);
}

}  // namespace aoe

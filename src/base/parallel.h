#pragma once

#include <cstdint>
#include <functional>

namespace aoe {

// Calls `body(first, last)` on disjoint parts that cover [0, count), on up to `threads` threads,
// the calling one among them. The first exception of any part is thrown again here. How the range
// is cut must not matter to the result.
void parallel_for(int64_t count, int64_t grain, int threads,
                  const std::function<void(int64_t, int64_t)>& body);

}  // namespace aoe

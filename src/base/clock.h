#pragma once

#include <functional>

namespace aoe {

// Nanoseconds since an arbitrary start; tests pass fake clocks.
using Clock = std::function<double()>;

// The machine's monotonic clock.
double steady_ns();

}  // namespace aoe

#pragma once

#include <functional>

namespace aoe {

// Nanoseconds since whenever; tests pass fake clocks.
using Clock = std::function<double()>;

// Of the machine, never set back.
double steady_ns();

}  // namespace aoe

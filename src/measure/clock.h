#pragma once

#include <functional>

namespace aoe {

// Nanoseconds since whenever; tests have clocks of their own.
using Clock = std::function<double()>;

// Of the machine, never set back.
double steady_ns();

}  // namespace aoe

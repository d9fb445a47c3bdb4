#include "base/clock.h"

#include <chrono>

namespace aoe {

double steady_ns() {
  return std::chrono::duration<double, std::nano>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

}  // namespace aoe

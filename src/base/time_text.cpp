#include "base/time_text.h"

#include <fmt/chrono.h>

namespace aoe {

std::string utc_text(SystemTime time) {
  return fmt::format("{:%Y-%m-%dT%H:%M:%SZ}",
                     fmt::gmtime(std::chrono::system_clock::to_time_t(time)));
}

std::string timestamp_text(SystemTime time) {
  using std::chrono::duration_cast;
  const auto ms = duration_cast<std::chrono::milliseconds>(time.time_since_epoch()).count();
  return fmt::format("{:%Y%m%d_%H%M%S}{:03}", fmt::localtime(ms / 1000), ms % 1000);
}

}  // namespace aoe

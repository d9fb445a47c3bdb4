#include "measure/host/peak_memory.h"

#include <cstdlib>
#include <string>

#include "device/system_text.h"

namespace aoe {

int64_t peak_memory_bytes() {
  const std::string status = read_system_text("/proc/self/status");
  constexpr std::string_view kName = "VmHWM:";
  const size_t at = status.find(kName);
  if (at == std::string::npos) return 0;
  return std::strtoll(status.c_str() + at + kName.size(), nullptr, 10) << 10;  // given in KiB
}

}  // namespace aoe

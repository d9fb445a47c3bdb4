#include "cli/kernels_option.h"

#include "base/error.h"

namespace aoe {

Device device_for(const std::string& kernels) {
  if (kernels.empty()) return host_device();
  const auto set = instruction_set_named(kernels);
  require(set.has_value(), "--kernels is '{}'; sse2, avx2 or avx512 is expected", kernels);
  return narrowed(host_device(), *set);
}

}  // namespace aoe

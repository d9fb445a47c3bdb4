// Feeds arbitrary texts to the parser of workloads. An Error is an expected result; an accepted
// workload must print as a text that parses to the same workload.

#include <cstdlib>
#include <string_view>

#include "base/error.h"
#include "base/tensor.h"
#include "expr/parse.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  aoe::set_tensor_limit(int64_t{16} << 20);
  std::string printed;
  try {
    printed = to_string(aoe::parse_workload({reinterpret_cast<const char*>(data), size}));
  } catch (const aoe::Error&) {
    return 0;
  }
  try {
    if (to_string(aoe::parse_workload(printed)) != printed) std::abort();
  } catch (const aoe::Error& error) {
    // Large constants print as their hash alone and do not parse back.
    if (printed.find('@') == std::string::npos) std::abort();
  }
  return 0;
}

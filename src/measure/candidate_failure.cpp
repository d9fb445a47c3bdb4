#include "measure/candidate_failure.h"

#include <algorithm>
#include <array>

namespace aoe {
namespace {

// In the order of the enumeration.
constexpr std::array<std::string_view, 10> kNames{
    "illegal_policy", "compile_error", "spills",   "wrong_result",  "not_a_number",
    "out_of_bounds",  "crash",         "time_out", "out_of_memory", "killed"};
static_assert(kNames.size() == static_cast<size_t>(Cause::killed) + 1);

}  // namespace

std::string_view name(Cause cause) { return kNames[static_cast<size_t>(cause)]; }

std::optional<Cause> cause_named(std::string_view name) {
  const auto found = std::find(kNames.begin(), kNames.end(), name);
  if (found == kNames.end()) return std::nullopt;
  return static_cast<Cause>(found - kNames.begin());
}

}  // namespace aoe
